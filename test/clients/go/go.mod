module muster.test/clients

go 1.21

require (
	github.com/go-resty/resty v1.8.0
	github.com/lenfree/go-singularity v0.0.0-20190612063747-4b9c4cafc2f3
	github.com/opentable/go-singularity v0.1.0
	github.com/opentable/swaggering v0.1.0
	gopkg.in/robfig/cron.v2 v2.0.0-20150107220207-be2e0b0deed5
)

require (
	github.com/nyarly/inlinefiles v0.0.0-20190505234105-847932cdc7e5 // indirect
	golang.org/x/net v0.0.0-20190509222800-a4d6f7feada5 // indirect
	golang.org/x/tools v0.0.0-20190513233021-7d589f28aaf4 // indirect
)

replace github.com/opentable/test_with_docker => ./without
