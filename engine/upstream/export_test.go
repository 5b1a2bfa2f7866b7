package upstream

// FaultRow is a row of the table of faults, for tests outside.
type FaultRow struct {
	Code int64
	Text string
	Kind Kind
}

// FaultRows lists the table.
func FaultRows() (rows []FaultRow) {
	for _, r := range faultRows {
		rows = append(rows, FaultRow{r.code, r.text, r.kind})
	}
	return rows
}
