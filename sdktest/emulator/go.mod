module github.com/mayflydb/mayfly/sdktest/emulator

go 1.26.8

require github.com/mayflydb/mayfly/sdktest v0.0.0

replace github.com/mayflydb/mayfly/sdktest => ../

replace github.com/mayflydb/mayfly => ../../
