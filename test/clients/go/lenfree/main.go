// Every call of the hand-written client that reaches the service: main HOST PORT prints a line of JSON for each.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	singularity "github.com/lenfree/go-singularity"
)

func main() {
	port, _ := strconv.Atoi(os.Args[2])
	config := singularity.NewConfig().SetHost(os.Args[1]).SetPort(port).SetRetry(1).Build()
	client := singularity.NewClient(config)

	types := map[string]int{"on-demand": singularity.ON_DEMAND, "service": singularity.SERVICE, "run-once": singularity.RUN_ONCE, "worker": singularity.WORKER}
	for id, kind := range types {
		made, err := singularity.NewRequest(kind, id).Create(client)
		tell("NewRequest("+id+").Create", err == nil && made.Body.SingularityRequest.ID == id && made.Body.State == "ACTIVE", made.Body, err)
	}
	scheduled, err := singularity.NewRequest(singularity.SCHEDULED, "scheduled").SetSchedule("0 0 1 1 *")
	must(err)
	made, err := scheduled.Create(client)
	tell("NewRequest(scheduled).Create", err == nil && made.Body.Schedule == "0 0 1 1 *", made.Body, err)

	one, err := client.GetRequestByID("service")
	tell("GetRequestByID", err == nil && one.Body.SingularityRequest.ID == "service" && one.Body.Instances == 1, one.Body, err)

	scale := singularity.NewRequestScale("service", "two of them", 2, 0)
	scaled, err := singularity.ScaleRequest(client, *scale)
	tell("ScaleRequest", err == nil && scaled.RequestParent.SingularityRequest.Instances == 2, scaled.RequestParent, err)

	// The client knows containers only: each deploy of its own carries one, without an image if none is given.
	container := singularity.ContainerInfo{Type: "DOCKER", DockerInfo: singularity.DockerInfo{Network: "BRIDGE", Image: "example:1"}}
	resources := singularity.SingularityDeployResources{Cpus: 0.1, MemoryMb: 16}
	deploy, err := singularity.NewDeploy("boxed").SetRequestID("service").SetCommand("sleep").SetArgs("600").SetResources(resources).SetContainerInfo(container)
	must(err)
	started, err := singularity.NewDeployRequest().AttachDeploy(deploy).SetMessage("the first").Create(client)
	tell("NewDeployRequest.Create", err == nil && started.RequestParent.SingularityRequest.ID == "service", started.RequestParent, err)

	// Deploys of others are canceled and listed all the same.
	canceled, err := singularity.NewDeleteDeploy("deployed", "d2").Delete(client)
	tell("NewDeleteDeploy.Delete", err == nil && canceled.RequestParent.SingularityRequest.ID == "deployed", canceled.RequestParent, err)
	_, list, err := client.GetRequests()
	tell("GetRequests", err == nil && list.GetRequestID("d1").SingularityRequest.ID == "deployed", list, err)

	gone, err := singularity.DeleteRequest(client, singularity.NewDeleteRequest("worker", "no more", "", false))
	until := time.Now().Add(20 * time.Second)
	for isThere(client, "worker") && time.Now().Before(until) {
		time.Sleep(50 * time.Millisecond)
	}
	tell("DeleteRequest", err == nil && gone.Response.ID == "worker" && !isThere(client, "worker"), gone.Response, err)
}

func isThere(client *singularity.Client, id string) bool {
	_, list, err := client.GetRequests()
	must(err)
	for _, request := range list {
		if request.SingularityRequest.ID == id {
			return true
		}
	}
	return false
}

func tell(method string, ok bool, saw interface{}, err error) {
	text, _ := json.Marshal(saw)
	outcome := "fails"
	if ok {
		outcome = "works"
	}
	line(method, outcome, fmt.Sprintf("%.600s %v", text, err))
}

func line(method string, outcome string, saw string) {
	text, _ := json.Marshal(map[string]string{"method": method, "outcome": outcome, "saw": saw})
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
