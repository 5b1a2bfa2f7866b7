package classify_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"txlens/engine/api"
	"txlens/engine/classify"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/protocol"
	"txlens/testkit/fixture"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// leaf is a value of an encoded argument list, in the order in which package
// protocol lists the roles: tuples are opened, arrays are not.
type leaf struct {
	kind  abi.Type
	value reflect.Value
	top   int // position of the argument that it is, or is part of
}

// arguments makes the ABI types of a signature text, without help of package protocol.
func arguments(t *testing.T, signature string) (args abi.Arguments) {
	t.Helper()
	_, list, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
	for _, kind := range splitKinds(list) {
		args = append(args, abi.Argument{Type: abiType(t, kind)})
	}
	return args
}

func splitKinds(list string) (kinds []string) {
	depth, from := 0, 0
	for i, c := range list + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0 && i > from:
			kinds, from = append(kinds, list[from:i]), i+1
		}
	}
	return kinds
}

func abiType(t *testing.T, kind string) abi.Type {
	t.Helper()
	m := marshaling("", kind)
	typ, err := abi.NewType(m.Type, "", m.Components)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return typ
}

func marshaling(name, kind string) abi.ArgumentMarshaling {
	if !strings.HasPrefix(kind, "(") {
		return abi.ArgumentMarshaling{Name: name, Type: kind}
	}
	end := strings.LastIndexByte(kind, ')')
	m := abi.ArgumentMarshaling{Name: name, Type: "tuple" + kind[end+1:]}
	for i, k := range splitKinds(kind[1:end]) {
		m.Components = append(m.Components, marshaling("f"+strconv.Itoa(i), k))
	}
	return m
}

// filler gives every value another content, so that a wrong place reads a wrong value.
type filler struct{ n int64 }

func (f *filler) value(typ abi.Type) reflect.Value {
	v := reflect.New(typ.GetType()).Elem()
	f.fill(v)
	return v
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch x := v.Addr().Interface().(type) {
	case *common.Address:
		x[0], x[19] = 0xaa, byte(f.n)
		return
	case **big.Int:
		*x = big.NewInt(1000 + f.n)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.n % 100)
	default:
		v.SetUint(uint64(f.n % 100))
	}
}

func leaves(top int, typ abi.Type, v reflect.Value) (list []leaf) {
	if typ.T != abi.TupleTy {
		return []leaf{{typ, v, top}}
	}
	for i, e := range typ.TupleElems {
		list = append(list, leaves(top, *e, v.Field(i))...)
	}
	return list
}

// pack encodes values; what does not encode is a mistake of this test.
func pack(t *testing.T, args abi.Arguments, values []reflect.Value) []byte {
	t.Helper()
	var list []any
	for _, v := range values {
		list = append(list, v.Interface())
	}
	b, err := args.Pack(list...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sample is a log or calldata of a row with what its roles should read.
type sample struct {
	log    *ethrpc.Log
	input  []byte
	leaves []leaf
}

// sampleLog makes a log of a row. The roles say which arguments are indexed; a row that
// declares none has its parties where the row says, and the reader of all words else.
func sampleLog(t *testing.T, e *facts.EventRule, emitter, reader common.Address) *sample {
	t.Helper()
	s := &sample{log: &ethrpc.Log{Address: emitter, Topics: []common.Hash{crypto.Keccak256Hash([]byte(e.Signature))}}}
	args := arguments(t, e.Signature)
	fill := &filler{}
	if len(e.Roles.List) == 0 && len(args) > 0 {
		n := max(e.Indexed, 0)
		for _, p := range e.Party {
			if p.Topic {
				n = max(n, p.N)
			}
		}
		for range n {
			s.log.Topics = append(s.log.Topics, common.BytesToHash(reader[:]))
		}
		for range 24 {
			s.log.Data = append(s.log.Data, common.LeftPadBytes(reader[:], 32)...)
		}
		return s
	}
	var plain abi.Arguments
	var values []reflect.Value
	next := 0
	for i, arg := range args {
		v := fill.value(arg.Type)
		for _, p := range e.Party {
			if r := e.Roles.List[next]; r.Slot.Topic == p.Topic && r.Slot.N == p.N && len(p.Inside)+len(r.Slot.Inside) == 0 && arg.Type.T == abi.AddressTy {
				v.Set(reflect.ValueOf(reader)) // so that the act is the reader's
			}
		}
		if name := e.Roles.List[next].Name; e.Act == facts.ActTransfer && (name == "from" || name == "sender") {
			v.Set(reflect.ValueOf(reader)) // what the reader gave is its act
		}
		own := leaves(i, arg.Type, v)
		s.leaves = append(s.leaves, own...)
		if e.Roles.List[next].Slot.Topic {
			s.log.Topics = append(s.log.Topics, topicOf(t, arg.Type, v))
		} else {
			plain, values = append(plain, arg), append(values, v)
		}
		next += len(own)
	}
	s.log.Data = pack(t, plain, values)
	return s
}

func topicOf(t *testing.T, typ abi.Type, v reflect.Value) common.Hash {
	if b := pack(t, abi.Arguments{{Type: typ}}, []reflect.Value{v}); len(b) == 32 {
		return common.Hash(b)
	}
	return crypto.Keccak256Hash([]byte(fmt.Sprint(v.Interface()))) // a hash of what was indexed
}

func sampleCall(t *testing.T, c *facts.CallRule) *sample {
	t.Helper()
	s := &sample{input: crypto.Keccak256([]byte(c.Signature))[:4]}
	fill := &filler{}
	args := arguments(t, c.Signature)
	var values []reflect.Value
	for i, arg := range args {
		values = append(values, fill.value(arg.Type))
		s.leaves = append(s.leaves, leaves(i, arg.Type, values[i])...)
	}
	s.input = append(s.input, pack(t, args, values)...)
	return s
}

// checkRoles reads every role back and compares it with what was encoded.
func checkRoles(t *testing.T, what string, r *facts.Roles, s *sample) {
	t.Helper()
	if len(r.List) == 0 {
		return
	}
	if len(r.List) != len(s.leaves) {
		t.Errorf("%s: %d roles for %d arguments", what, len(r.List), len(s.leaves))
		return
	}
	for i, role := range r.List {
		l := s.leaves[i]
		data := s.input
		if s.log != nil {
			data = s.log.Data
		} else {
			data = data[4:]
		}
		var got []byte
		switch {
		case role.Slot.Topic:
			got = role.Slot.Word(s.log)
			if want := topicOf(t, l.kind, l.value); !bytes.Equal(got, want[:]) {
				t.Errorf("%s: role %s reads %x, want %x", what, role.Name, got, want)
			}
		case role.Slot.Body:
			got = bodyOf(role.Slot, data)
			if b := pack(t, abi.Arguments{{Type: l.kind}}, []reflect.Value{l.value}); !bytes.HasPrefix(got, b[32:]) {
				t.Errorf("%s: role %s does not find its body", what, role.Name)
			}
		default:
			got = role.Slot.Argument(data)
			if b := pack(t, abi.Arguments{{Type: l.kind}}, []reflect.Value{l.value}); !bytes.HasPrefix(b, got) || got == nil {
				t.Errorf("%s: role %s reads %x, want %x", what, role.Name, got, b)
			}
		}
	}
}

// eventSeen reports whether the verdict on a transaction whose only log is the sample
// shows the vote of its row.
func eventSeen(t *testing.T, e *facts.EventRule, s *sample) (string, bool) {
	t.Helper()
	sc := scene.New(scene.At(scene.Router), 0, nil2())
	if e.Act == facts.ActWrap {
		sc = withMove(scene.New(scene.At(scene.Weth), 1002, nil2()), nil)
	}
	if e.Flags&facts.FlagCommon != 0 {
		sc.Known(s.log.Address, "an emitter of the protocol", "lending", e.Slug) // the text alone says nothing
	}
	sc.Log(s.log.Address, "", nil)
	sc.Rc.Logs[0].Topics, sc.Rc.Logs[0].Data = s.log.Topics, s.log.Data
	sc.Root.Logs[0].Topics, sc.Root.Logs[0].Data = s.log.Topics, s.log.Data
	v := scene.Judge(sc.Facts(t))
	said := strings.Join(v.Steps, "\n")
	if e.Flags&facts.FlagBrand != 0 {
		return fmt.Sprintf("protocol %v", v.Protocol), v.Protocol != nil && *v.Protocol == e.Slug
	}
	if flag, ok := strings.CutPrefix(string(e.Act), "flag:"); ok {
		return said, strings.Contains(said, strings.ReplaceAll(flag, "_", " "))
	}
	if how, ok := machineryShows[e.Act]; ok {
		return said, strings.Contains(said, how) || how == ""
	}
	k := kindOf(e.Act)
	for _, vote := range v.Votes {
		if !slices.Contains(vote.Logs, 0) && e.Act != facts.ActTransfer {
			continue
		}
		if also := showsAs[e.Act]; vote.TxType == k.txType && (vote.SubType == k.subType || also == vote.SubType) || also != "" && vote.SubType == also {
			return said, true
		}
	}
	return fmt.Sprintf("votes %+v", v.Votes), false
}

// machineryShows says by what words of the steps the events that only unwrap or divide
// show. Notes cast no vote: they are evidence that other rules read.
var machineryShows = map[facts.Act]string{"note": "", "userop_begin": "", "authorization": "", "safe_success": "reported success",
	"safe_failure": "inner call failed", "safe_module": "A module of Safe", "userop": "user operation", "userop_revert": "reverted",
	"userop_prefund": "userop prefund", "userop_postop": "userop postop"}

// showsAs: a message that nothing went with is no bridging; a change of liquidity has a
// direction only with movements.
var showsAs = map[facts.Act]string{facts.ActMessageOut: "message", facts.ActLiquidity: "change_liquidity"}

// TestEveryRowIsExercised makes a log or calldata of every row of the table, and of
// every row of the harvest in every layout, reads the roles of all arguments back, and
// looks for the row's vote in what Classify says. Nothing may be left out.
func TestEveryRowIsExercised(t *testing.T) {
	reg := facts.Tables()
	done := map[any]bool{}
	events := 0
	for _, rows := range reg.Events {
		for _, e := range rows {
			events++
			emitter := scene.Pool1
			if e.Act == facts.ActWrap || e.Act == facts.ActUnwrap {
				emitter = scene.Weth // from elsewhere the text says nothing of native coin
			}
			s := sampleLog(t, e, emitter, scene.User)
			if got := reg.Event(s.log); got != e {
				t.Errorf("%s with %d indexed finds another row", e.Signature, e.Indexed)
				continue
			}
			checkRoles(t, e.Signature, &e.Roles, s)
			if said, ok := eventSeen(t, e, s); !ok {
				t.Errorf("%s (%s) does not show:\n%s", e.Signature, e.Act, said)
				continue
			}
			done[e] = true
		}
	}
	calls := 0
	errors := errorRows()
	for kind, table := range map[string]map[[4]byte]*facts.CallRule{"call": reg.Calls, "callback": reg.Callbacks, "error": errors} {
		for _, c := range table {
			calls++
			s := sampleCall(t, c)
			checkRoles(t, c.Signature, &c.Roles, s)
			if said, ok := callSeen(t, kind, c, s); !ok {
				t.Errorf("%s %s (%s) does not show: %s", kind, c.Signature, c.Act, said)
				continue
			}
			done[c] = true
		}
	}
	t.Logf("table: %d of %d rows exercised", len(done), events+calls)
	if len(done) != events+calls {
		t.Errorf("%d rows of the table are not exercised", events+calls-len(done))
	}
	harvestCovered(t, reg, errors, done)
}

// bodyOf reads what the word at the place is the offset of: first its length, then the
// elements of the array, or the bytes. It ends where the data ends.
func bodyOf(s facts.Slot, data []byte) []byte {
	if data, n := s.Scope(data); s.Body && data != nil {
		return facts.BodyAt(data, evmsig.Word(data, n))
	}
	return nil
}

// errorRows are the declared errors, which the rules read through the decoder.
func errorRows() map[[4]byte]*facts.CallRule {
	rows := map[[4]byte]*facts.CallRule{}
	for _, p := range protocol.All() {
		for i := range p.Signatures {
			if s := &p.Signatures[i]; s.Kind == protocol.Error {
				rows[evmsig.Func(s.Text)] = &facts.CallRule{Signature: s.Text, Roles: facts.SignatureRoles(s)}
			}
		}
	}
	return rows
}

// harvestCovered holds the harvest's rows against what was exercised.
func harvestCovered(t *testing.T, reg *facts.Registry, errors map[[4]byte]*facts.CallRule, done map[any]bool) {
	t.Helper()
	rows, layouts, covered := 0, 0, 0
	eachRow(t, "events.tsv", func(c []string) {
		rows++
		for _, idx := range strings.Split(c[5], "/") {
			layouts++
			voteAgrees(t, reg, c, idx)
			if layoutDone(reg, done, c, idx) {
				covered++
			} else {
				t.Errorf("event %s with %s indexed is not exercised", c[3], idx)
			}
		}
	})
	selectors, called := 0, 0
	eachRow(t, "selectors.tsv", func(c []string) {
		selectors++
		sel := [4]byte(common.FromHex(c[0]))
		for _, table := range []map[[4]byte]*facts.CallRule{reg.Calls, reg.Callbacks, errors} {
			if r := table[sel]; r != nil && r.Signature == c[1] && done[r] {
				called++
				return
			}
		}
		t.Errorf("selector %s is not exercised", c[1])
	})
	t.Logf("harvest: %d of %d layouts of %d events, %d of %d selectors exercised", covered, layouts, rows, called, selectors)
	if covered != layouts || called != selectors || rows < 239 || selectors < 132 {
		t.Errorf("the harvest is not covered whole")
	}
}

// otherwise are the signatures that vote for another type than the harvest says: facts
// of a step that decide nothing alone, and events that say less than their name.
var otherwise = map[string]string{
	"Deposit(address,address,uint256,uint256)":            "other", // staking only where the emitter is known as a staker
	"Withdraw(address,address,address,uint256,uint256)":   "other",
	"Withdraw(address,address,uint256)":                   "stake",   // with nothing indexed it is another contract's
	"AuthorizationUsed(address,bytes32)":                  "nothing", // names the actor; the transfer beside it votes
	"SafeReceived(address,uint256)":                       "nothing",
	"TransferShares(address,address,uint256)":             "nothing", // beside each transfer of stETH
	"Settlement(address)":                                 "nothing", // the trades beside it vote
	"Donate(bytes32,address,uint256,uint256)":             "nothing",
	"Wrap(address,uint256,uint256,bytes32)":               "nothing", // a step within a swap
	"Unwrap(address,uint256,uint256,bytes32)":             "nothing",
	"PostOpRevertReason(bytes32,address,uint256,bytes)":   "nothing", // a risk flag tells of them
	"UserOperationPrefundTooLow(bytes32,address,uint256)": "nothing",
}

// voteAgrees holds the vote of the table against the type that the harvest's vote
// begins with.
func voteAgrees(t *testing.T, reg *facts.Registry, cells []string, idx string) {
	t.Helper()
	want, _, _ := strings.Cut(strings.TrimRight(strings.Fields(cells[2] + " -")[0], ","), "/")
	for _, e := range reg.Events[common.HexToHash(cells[4])] {
		if n, err := strconv.Atoi(idx); err == nil && e.Indexed >= 0 && e.Indexed != n {
			continue
		}
		got := string(kindOf(e.Act).txType)
		if e.Act == facts.ActFlashLoan {
			got = "amplifier"
		}
		if strings.HasPrefix(string(e.Act), "flag:") {
			got = "flag"
		}
		if want == "risk" {
			want = "flag"
		}
		if got == "" {
			got = "nothing"
		}
		if got != want && otherwise[cells[3]] != got && !(got == "nothing" && (want == "-" || want == "unwrap")) {
			t.Errorf("%s votes for %q, the harvest for %q", cells[3], got, cells[2])
		}
	}
}

// layoutDone reports whether a log of a harvested row finds an exercised row of the
// table. The harvest writes "?" where it does not know how many arguments are indexed.
func layoutDone(reg *facts.Registry, done map[any]bool, cells []string, idx string) bool {
	n, err := strconv.Atoi(idx)
	for i := range 4 {
		l := &ethrpc.Log{Topics: make([]common.Hash, i+1)}
		l.Topics[0] = common.HexToHash(cells[4])
		if e := reg.Event(l); (err != nil || n == i) && e != nil && e.Signature == cells[3] && done[e] {
			return true
		}
	}
	return false
}

func eachRow(t *testing.T, name string, f func(cells []string)) {
	t.Helper()
	file, err := os.Open(filepath.Join(fixture.Data(t), name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sc := bufio.NewScanner(file)
	for sc.Scan(); sc.Scan(); {
		f(strings.Split(sc.Text(), "\t"))
	}
}

// TestRolesReadRecordedLogs: what a row declares an address must read as one in every
// recorded log of its layout; a wrong order of indexed arguments would not.
func TestRolesReadRecordedLogs(t *testing.T) {
	rows, logs, wrong := map[*facts.EventRule]bool{}, 0, map[string]int{}
	check := func(rc *ethrpc.Receipt) {
		for i := range rc.Logs {
			l := &rc.Logs[i]
			e := facts.Tables().Event(l)
			if e == nil || len(e.Roles.List) == 0 || len(l.Topics) != e.Roles.Topics+1 {
				continue
			}
			rows[e], logs = true, logs+1
			next := 0
			for _, arg := range arguments(t, e.Signature) {
				if arg.Type.T == abi.AddressTy {
					if _, ok := e.Roles.List[next].Slot.At(l); !ok {
						wrong[e.Signature+" "+e.Roles.List[next].Name]++
					}
				}
				next += len(leaves(0, arg.Type, reflect.New(arg.Type.GetType()).Elem()))
			}
		}
	}
	for _, id := range fixture.LabelledChains() {
		list := fixture.LabelledOf(t, id)
		for i := range list {
			check(scene.FromLabelled(t, &list[i]).Receipt)
		}
	}
	eachBlockTx(t, func(_ string, f *facts.Input, _ *scene.Judged) { check(f.Receipt) })
	t.Logf("%d recorded logs of %d rows read", logs, len(rows))
	if len(wrong) > 0 || len(rows) < 100 {
		t.Errorf("%d rows; no addresses:%s", len(rows), table(wrong))
	}
}

// callSeen reports whether the verdict on a call without effects shows the row: the act
// of a function in the votes, an error in why a transaction failed.
func callSeen(t *testing.T, kind string, c *facts.CallRule, s *sample) (string, bool) {
	t.Helper()
	switch kind {
	case "error":
		sc := scene.New(scene.At(scene.Router), 0, nil2()).Fail("execution reverted")
		sc.Root.Output = s.input
		v := scene.Judge(sc.Facts(t))
		name, _, _ := strings.Cut(c.Signature, "(")
		said := strings.ToLower(v.Summary)
		return v.Summary, !strings.Contains(said, "without giving a reason") && (strings.Contains(v.Summary, name) || len(errorWords[name]) > 0 && strings.Contains(said, errorWords[name]))
	case "callback":
		return "", true
	}
	callee := scene.Pool1
	if c.Act == facts.ActWrap || c.Act == facts.ActUnwrap {
		callee = scene.Weth // elsewhere the name says nothing of native coin
	}
	v := scene.Judge(scene.New(&callee, 0, s.input).Facts(t))
	k := kindOf(c.Act)
	var saw []string
	for _, vote := range v.Votes {
		if vote.TxType == k.txType && vote.SubType == k.subType {
			return "", true
		}
		saw = append(saw, string(vote.TxType)+"/"+vote.SubType)
	}
	sort.Strings(saw)
	return strings.Join(saw, " "), false
}

// errorWords are the words for errors that are told in a sentence of their own.
var errorWords = map[string]string{"Error": `reverted: "text 1"`, "Panic": "panicked with the unknown code 1001", "ExecutionFailed": "command 1001 failed",
	"FailedOp": "user operation 1001 failed", "FailedOpWithRevert": "user operation 1001 failed", "WrappedError": "the call of 0x03040506"}

// kindOf is how an act shows in a vote.
func kindOf(x facts.Act) (k struct {
	txType  api.TxType
	subType string
}) {
	if classify.IsKind(x) {
		k.txType, k.subType = classify.TypeOf(x), classify.SubTypeOf(x)
	}
	return k
}
