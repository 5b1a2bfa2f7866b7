package classify
import ("testing";"fmt";"os";"strings";"txlens/engine/fixture")
func TestZZ(t *testing.T){
 w,_:=os.Create("/tmp/w/A/zz.txt")
 for _, id := range fixture.LabelledChains {
  list := fixture.LabelledOf(t, id)
  for i := range list { l:=&list[i]; facts := fromLabelled(t, l); v := Classify(facts)
   p:="-"; if v.Protocol!=nil {p=*v.Protocol}
   to:=""; tl:=""
   if facts.Tx.To!=nil { to=facts.Tx.To.Hex(); tl=facts.Labels[*facts.Tx.To].Name+"/"+facts.Labels[*facts.Tx.To].Protocol}
   fmt.Fprintf(w,"%d\t%s\t%s\t%s\t%s\t%s/%s\t%s %s\t%s\n",id,l.Hash[:10],strings.Join(l.Expect.Protocols,","),p,strings.Join(l.Expect.TxTypes,","),tName(v),v.SubType,to,tl,v.Summary)
  }}
}
