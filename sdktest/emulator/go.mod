module github.com/mayflydb/mayfly/sdktest/emulator

go 1.26.8

require github.com/mayflydb/mayfly/sdktest v0.0.0

require (
	github.com/Azure/azure-sdk-for-go/sdk/azcore v1.23.0 // indirect
	github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos v1.5.0 // indirect
	github.com/Azure/azure-sdk-for-go/sdk/internal v1.12.0 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace github.com/mayflydb/mayfly/sdktest => ../

replace github.com/mayflydb/mayfly => ../../
