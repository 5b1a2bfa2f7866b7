package api_test

import (
	"errors"
	"fmt"

	"txlens/engine/api"
)

// A request is validated as a whole, before anything is asked or paid for.
func ExampleParseRequest() {
	req, err := api.ParseRequest([]byte(`{"txHash":"0xc30c589a09e92eb5649276e7ba7601068e42228857e42d26a39ff5912b2c7560","chainId":1}`), nil)
	fmt.Println(req.ChainID, err)

	_, err = api.ParseRequest([]byte(`{"txHash":"0xc30c"}`), nil)
	var bad *api.BadRequest
	fmt.Println(errors.As(err, &bad), err)
	// Output:
	// 1 <nil>
	// true txHash: must be 0x and 64 hex digits
}

// A result of the service, or of txlens explain --json, is read with DecodeResult.
func ExampleDecodeResult() {
	res, err := api.DecodeResult([]byte(`{"txHash":"0xc30c589a09e92eb5649276e7ba7601068e42228857e42d26a39ff5912b2c7560",
		"chain":"ethereum-mainnet","status":"reverted","attempted":true,"txType":"swap","summary":"Failed attempt to swap"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Chain, res.Status, *res.TxType, res.Attempted, res.Partial())
	// Output:
	// ethereum-mainnet reverted swap true false
}
