package scene

import (
	"fmt"
	"math/big"
	"reflect"
	"sort"
	"strings"

	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Reading writes what the facts of a transaction are, in lines: the fields of the case that are
// set, and what its readers answer.
func Reading(a *facts.Case) string {
	var b strings.Builder
	line := func(name string, v any) {
		if text := written(reflect.ValueOf(v)); text != "" {
			fmt.Fprintf(&b, "  %s: %s\n", name, text)
		}
	}
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		switch f := v.Type().Field(i); f.Name {
		case "Input", "Registry", "Changes", "Sender":
		default:
			if f.IsExported() {
				line(f.Name, v.Field(i).Interface())
			}
		}
	}
	readers(a, line)
	if l := a.Layout(); l != nil && len(l.Tools)+len(l.LossCandidates) > 0 {
		laidOut(l, line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// found writes an answer that may be missing.
func found(line func(string, any), name string, ok bool, v ...any) {
	if ok {
		line(name, append([]any{true}, v...))
	}
}

// readers writes the answers of the readers that take no argument, and of the others for what the
// case has to ask for.
func readers(a *facts.Case, line func(string, any)) {
	swaps := a.Find(facts.ActSwap)
	line("Grants", a.Grants())
	line("PoolTrades", a.PoolTrades(swaps))
	line("FlashLoans", a.Loans())
	line("Sales", a.Sales())
	line("MessageFees", a.MessageFees())
	line("Reentries", a.Reentries())
	line("Reentered", a.Reentered())
	line("Refusals", a.Refusals())
	line("CaughtFailures", a.CaughtFailures())
	line("CreatedFrames", a.CreatedFrames())
	line("CalledContracts", a.CalledContracts())
	line("PartyAndActor", a.PartyAndActor())
	line("FollowedTrade", a.FollowedTrade())
	seized, logs := a.Seizures()
	line("Seizures", seized)
	line("seizing logs", logs)
	line("ProducerPayment", a.ProducerPayment())
	line("FailureOrigin", a.FailureOrigin())
	delegates, clears := a.Delegates()
	line("Delegates", delegates)
	line("clears", clears)
	back, ok := a.BackAndForth(swaps)
	found(line, "BackAndForth", ok, back)
	token, ok := a.MadeOrBurnt()
	found(line, "MadeOrBurnt", ok, token)
	pool, ok := a.JustInTime()
	found(line, "JustInTime", ok, pool)
	line("is", map[string]bool{
		"NoCodeRan": a.NoCodeRan(), "TokenCall": a.TokenCall(), "OnlyWrap": a.OnlyWrap(), "IsPoisoning": a.IsPoisoning(), "IsSearcher": a.IsSearcher(),
		"OnlyCoin": a.OnlyCoin(), "CalledRouter": a.CalledRouter(), "SafeRejection": a.SafeRejection(), "EmptyCall": a.EmptyCall(),
		"BareTransfer": a.BareTransfer(), "Unlogged": a.Unlogged(),
	})
	ofMatches(a, line)
	ofTransfers(a, line)
}

func ofMatches(a *facts.Case, line func(string, any)) {
	for i := range a.Matches {
		m := &a.Matches[i]
		if n := a.MessageDestination(m); n != nil {
			line("destination of "+string(m.Act), n)
		}
		key, fee, ok := a.DeliveryFee(m)
		found(line, "DeliveryFee", ok, key, fee)
		if m.Act == facts.ActLiquidate {
			who, ok := a.LiquidatedAccount(m)
			found(line, "LiquidatedAccount", ok, who)
		}
	}
}

func ofTransfers(a *facts.Case, line func(string, any)) {
	if a.Flow == nil {
		return
	}
	seen := map[common.Address]bool{}
	for i := range a.Flow.Transfers {
		t := &a.Flow.Transfers[i]
		payee, ok := a.AskedPayee(t)
		found(line, "AskedPayee", ok, payee)
		if seen[t.Token] {
			continue
		}
		seen[t.Token] = true
		n, ok := a.Decimals(t.Token)
		found(line, "Decimals of "+api.AddrOf(t.Token).Short(), ok, n)
		coin, of := a.RateInCoin(t.Key())
		found(line, "RateInCoin of "+api.AddrOf(t.Token).Short(), coin != nil, coin, of)
		token, ok := a.HybridOf(t.Token)
		found(line, "HybridOf", ok, token)
	}
}

// laidOut writes the layout of a case.
func laidOut(l *facts.Layout, line func(string, any)) {
	v := reflect.ValueOf(l).Elem()
	for i := range v.NumField() {
		switch f := v.Type().Field(i); f.Name {
		case "Case", "Context", "End":
		default:
			if f.IsExported() {
				line("layout "+f.Name, v.Field(i).Interface())
			}
		}
	}
	line("layout RoundTrips", l.RoundTrips())
	line("layout Free", l.Free())
	for i := range l.ExternalCalls {
		line(fmt.Sprintf("layout call %d gave", i), l.Given(i))
		line(fmt.Sprintf("layout call %d took", i), l.Taken(i))
	}
}

// written writes a value: empty for the zero value, names for frames and accounts.
func written(v reflect.Value) string {
	if !v.IsValid() || v.IsZero() || !v.CanInterface() {
		return ""
	}
	switch x := v.Interface().(type) {
	case common.Address:
		return api.AddrOf(x).Short()
	case *big.Int:
		return x.String()
	case flow.TokenKey:
		return asset(x)
	case *trace.Frame:
		return fmt.Sprint("frame ", x.Index)
	case *facts.EventRule:
		return x.Signature
	case *facts.CallRule:
		return x.Signature
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return written(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return fmt.Sprintf("%#x", v.Interface())
		}
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = written(v.Index(i))
			if parts[i] == "" {
				parts[i] = "-"
			}
		}
		return "[" + strings.Join(parts, "; ") + "]"
	case reflect.Map:
		var parts []string
		for _, k := range v.MapKeys() {
			if text := written(v.MapIndex(k)); text != "" {
				parts = append(parts, written(k)+"="+text)
			}
		}
		sort.Strings(parts)
		return "[" + strings.Join(parts, "; ") + "]"
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			if text := written(v.Field(i)); text != "" {
				parts = append(parts, v.Type().Field(i).Name+" "+text)
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v.Interface())
}
