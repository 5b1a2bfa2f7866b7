package main

import "github.com/ethereum/go-ethereum/crypto"

func topic(signature string) string { return crypto.Keccak256Hash([]byte(signature)).Hex() }
