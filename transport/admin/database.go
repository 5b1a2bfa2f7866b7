package admin

import "github.com/prometheus/client_golang/prometheus"

// DatabaseUsage is the state of a database server as the store sees it, counted from its start.
type DatabaseUsage struct {
	Connections, Busy int    // connections that are open, and those that are in use
	PoolWaits         uint64 // reads that waited for a free connection
	Commits           uint64 // transactions that were committed
	Conflicts         uint64 // transactions that the database asked to repeat
	Reconnects        uint64 // transactions that were repeated because the connection broke
	LeaseLosses       uint64 // 1 after another server has taken over
	Members           int    // servers that share the database, as of the last renewal; 1: this one alone
}

// databaseMetric is one metric of a database server.
type databaseMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(DatabaseUsage) float64
}

var databaseMetrics = []databaseMetric{
	{
		prometheus.NewDesc("txlens_store_connections", "Connections to the database server.", nil, nil),
		prometheus.GaugeValue, func(u DatabaseUsage) float64 { return float64(u.Connections) },
	},
	{
		prometheus.NewDesc("txlens_store_connections_busy", "Connections to the database server that are in use.", nil, nil),
		prometheus.GaugeValue, func(u DatabaseUsage) float64 { return float64(u.Busy) },
	},
	{
		prometheus.NewDesc("txlens_store_pool_waits_total", "Reads that waited for a free connection to the database server.", nil, nil),
		prometheus.CounterValue, func(u DatabaseUsage) float64 { return float64(u.PoolWaits) },
	},
	{
		prometheus.NewDesc("txlens_store_commits_total", "Transactions that the database server committed.", nil, nil),
		prometheus.CounterValue, func(u DatabaseUsage) float64 { return float64(u.Commits) },
	},
	{
		prometheus.NewDesc("txlens_store_conflicts_total", "Transactions that were repeated because the database server asked for it.", nil, nil),
		prometheus.CounterValue, func(u DatabaseUsage) float64 { return float64(u.Conflicts) },
	},
	{
		prometheus.NewDesc("txlens_store_reconnects_total", "Transactions that were repeated because the connection broke.", nil, nil),
		prometheus.CounterValue, func(u DatabaseUsage) float64 { return float64(u.Reconnects) },
	},
	{
		prometheus.NewDesc("txlens_store_lease_losses_total", "1 after another server has taken over the database.", nil, nil),
		prometheus.CounterValue, func(u DatabaseUsage) float64 { return float64(u.LeaseLosses) },
	},
	{
		prometheus.NewDesc("txlens_store_members", "Servers that share the database.", nil, nil),
		prometheus.GaugeValue, func(u DatabaseUsage) float64 { return float64(u.Members) },
	},
}
