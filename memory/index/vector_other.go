//go:build !amd64 && !arm64

package index

var dotRows = dotGo
