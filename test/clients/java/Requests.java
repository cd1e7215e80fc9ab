import static java.util.Optional.empty;
import static java.util.Optional.of;

import com.hubspot.mesos.Resources;
import com.hubspot.singularity.CrashLoopInfo;
import com.hubspot.singularity.CrashLoopType;
import com.hubspot.singularity.RequestState;
import com.hubspot.singularity.RequestType;
import com.hubspot.singularity.SingularityAction;
import com.hubspot.singularity.SingularityCreateResult;
import com.hubspot.singularity.SingularityDeploy;
import com.hubspot.singularity.SingularityDeployBuilder;
import com.hubspot.singularity.SingularityDeployHistory;
import com.hubspot.singularity.SingularityPendingRequest;
import com.hubspot.singularity.SingularityPendingRequestParent;
import com.hubspot.singularity.SingularityRequest;
import com.hubspot.singularity.SingularityRequestBatch;
import com.hubspot.singularity.SingularityRequestBuilder;
import com.hubspot.singularity.SingularityRequestCleanup;
import com.hubspot.singularity.SingularityRequestHistory;
import com.hubspot.singularity.SingularityRequestParent;
import com.hubspot.singularity.SingularityRequestWithState;
import com.hubspot.singularity.SingularityUpdatePendingDeployRequest;
import com.hubspot.singularity.SingularityWebhook;
import com.hubspot.singularity.WebhookType;
import com.hubspot.singularity.api.SingularityBounceRequest;
import com.hubspot.singularity.api.SingularityDeleteRequestRequest;
import com.hubspot.singularity.api.SingularityExitCooldownRequest;
import com.hubspot.singularity.api.SingularityPauseRequest;
import com.hubspot.singularity.api.SingularityRunNowRequest;
import com.hubspot.singularity.api.SingularityScaleRequest;
import com.hubspot.singularity.api.SingularityUnpauseRequest;
import com.hubspot.singularity.api.SingularityUpdateGroupsRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** Requests of every type with their deploys: 'web' runs on, the others are paused, cooled down, deleted. */
final class Requests {
  private final Ledger ledger;
  /** A file: when it is there, the task of 'cooling' fails. */
  private final Path sign;

  Requests(Ledger ledger, Path sign) {
    this.ledger = ledger;
    this.sign = sign;
  }

  void drive() {
    SingularityRequestBuilder builder = service("web").setInstances(of(2)).setOwners(of(Collections.singletonList("ann@a.example")));
    Ledger.setIfThere(builder, "setMaxScale", of(10));
    SingularityRequest web = builder.build();
    ledger.part("requests", () -> saves(web));
    ledger.part("deploys", this::deploys);
    ledger.part("lists of requests", () -> lists(web));
    ledger.part("groups", this::groups);
    ledger.part("changes", this::changes);
    ledger.part("queues", this::queues);
    ledger.part("histories of requests", this::histories);
    ledger.part("ends", this::ends);
  }

  private void saves(SingularityRequest web) {
    for (WebhookType type : new WebhookType[] { WebhookType.TASK, WebhookType.REQUEST, WebhookType.DEPLOY }) addWebhook(type);
    Predicate<Object> saved = Machines.none(() -> request("web").getRequest().equals(web));
    ledger.check("createOrUpdateSingularityRequest(SingularityRequest)", saved, web);
    for (String id : new String[] { "cooling", "step", "slow", "gone" }) save(service(id));
    save(service("rest").setRequestType(RequestType.WORKER));
    save(new SingularityRequestBuilder("job", RequestType.ON_DEMAND));
    save(new SingularityRequestBuilder("cron", RequestType.SCHEDULED).setSchedule(of("0 0 1 1 *")));
  }

  private void addWebhook(WebhookType type) {
    // Nothing listens there, so its queue fills.
    SingularityWebhook webhook = new SingularityWebhook("http://127.0.0.1:9/" + type, empty(), empty(), type);
    Predicate<Optional<SingularityCreateResult>> created = result -> result.get() == SingularityCreateResult.CREATED;
    if (type == WebhookType.TASK) ledger.check("addWebhook(SingularityWebhook)", created, webhook);
    else ledger.call("addWebhook(SingularityWebhook)", webhook);
  }

  private void deploys() {
    Predicate<SingularityRequestParent> started = parent ->
      parent.getRequest().getId().equals("web") && parent.getPendingDeploy().get().getId().equals("d1") && parent.getRequestDeployState().isPresent();
    // Ports, so that the client finds them among the resources of the task.
    SingularityDeploy web = small("web", "d1", "echo hello from here; exec sleep 600").setResources(of(new Resources(0.1, 16, 2))).build();
    ledger.check("createDeployForSingularityRequest(String,SingularityDeploy,Optional,Optional)", started, "web", web, of(false), of("the first"));
    SingularityRequest three = service("step").setInstances(of(3)).build();
    SingularityDeploy steps = small("step", "d1", "exec sleep 600").setDeployInstanceCountPerStep(of(1)).setDeployStepWaitTimeMs(of(600_000)).build();
    Predicate<SingularityRequestParent> updated = parent -> parent.getPendingDeployState().get().getUpdatedRequest().get().getInstancesSafe() == 3;
    ledger.check("createDeployForSingularityRequest(String,SingularityDeploy,Optional,Optional,Optional)", updated, "step", steps, empty(), empty(), of(three));
    String withAll = "createDeployForSingularityRequest(String,SingularityDeploy,Optional,Optional,Optional,Optional)";
    SingularityDeploy cooling = small("cooling", "d1", "while [ ! -e " + sign + " ]; do sleep 0.2; done; exit 1").build();
    Predicate<SingularityRequestParent> ofCooling = parent -> parent.getPendingDeploy().get().getCommand().get().contains("exit 1");
    if (ledger.has(withAll)) ledger.check(withAll, ofCooling, "cooling", cooling, empty(), empty(), empty(), of(true));
    else deploy(cooling);
    deploy(small("slow", "d1", "exec sleep 600").setConsiderHealthyAfterRunningForSeconds(of(600L)).build());
    deploy(small("rest", "d1", "exec sleep 600").build());
    deploy(small("gone", "d1", "exec sleep 600").build());
    deploy(small("job", "d1", "sleep").build());
    deploy(small("cron", "d1", "true").build());
    for (String id : new String[] { "web", "rest", "gone", "job", "cron", "cooling" }) active(id);
    Predicate<SingularityRequestParent> withoutDeploy = parent -> parent.getRequest().getId().equals("slow");
    ledger.check("cancelPendingDeployForSingularityRequest(String,String)", withoutDeploy, "slow", "d1");
    ledger.await("the deploy to be canceled", () -> result("slow", "d1").equals("CANCELED"));
    ledger.await("the first step", () -> progress("step", "getCurrentActiveInstances").equals(1));
    ledger.check(
      "updateIncrementalDeployInstanceCount(SingularityUpdatePendingDeployRequest)",
      (SingularityRequestParent parent) -> {
        ledger.await("the other steps at once", () -> progress("step", "getTargetActiveInstances").equals(3));
        return parent.getPendingDeploy().get().getId().equals("d1");
      },
      new SingularityUpdatePendingDeployRequest("step", "d1", 3)
    );
  }

  private void lists(SingularityRequest web) {
    Predicate<Optional<SingularityRequestParent>> whole = parent ->
      parent.get().getRequest().equals(web) && parent.get().getState() == RequestState.ACTIVE && parent.get().getActiveDeploy().get().getId().equals("d1");
    ledger.check("getSingularityRequest(String)", whole, "web");
    ledger.check("setSkipApiCache(boolean)", Machines.none(() -> whole.test(of(request("web")))), true);
    ledger.check("getSingularityRequestSimple(String)", (Optional<SingularityRequestWithState> one) -> one.get().getRequest().equals(web), "web");
    ledger.check("headRequest(String)", (Optional<Integer> tag) -> tag.isPresent(), "web");
    Predicate<Collection<SingularityRequestParent>> all = list -> ids(list).containsAll(Arrays.asList("web", "rest", "job", "cron", "step"));
    ledger.check("getSingularityRequests()", all);
    Predicate<Collection<SingularityRequestParent>> full = list ->
      all.test(list) && list.stream().filter(parent -> parent.getRequest().equals(web)).anyMatch(parent -> parent.getTaskIds().get().getHealthy().size() == 2);
    ledger.check("getSingularityRequests(boolean)", full, true);
    ledger.check("getActiveSingularityRequests()", all);
    Predicate<SingularityRequestBatch> batch = found -> ids(found.getRequests()).equals(Collections.singleton("web")) && found.getNotFound().equals(Collections.singleton("none"));
    ledger.check("getRequestsBatch(Set)", batch, new HashSet<>(Arrays.asList("web", "none")));
  }

  private void groups() {
    SingularityUpdateGroupsRequest update = new SingularityUpdateGroupsRequest(of("blue"), Collections.singleton("writers"), Collections.singleton("readers"), empty(), of("ours"));
    ledger.check("checkAuthForRequestGroupsUpdate(String,SingularityUpdateGroupsRequest)", (Boolean may) -> may, "web", update);
    Predicate<SingularityPendingRequestParent> now = parent ->
      parent.getRequest().getGroup().equals(of("blue")) && request("web").getRequest().getReadOnlyGroups().get().contains("readers");
    ledger.check("updateAuthorizedGroups(String,SingularityUpdateGroupsRequest)", now, "web", update);
  }

  private void changes() {
    ledger.check("scaleSingularityRequest(String,SingularityScaleRequest)", Machines.none(() -> runs("web", 3)), "web", scale(3));
    String acknowledged = "scaleSingularityRequest(String,SingularityScaleRequest,Optional)";
    if (ledger.has(acknowledged)) ledger.check(acknowledged, Machines.none(() -> runs("web", 2)), "web", scale(2), of(true));
    else {
      ledger.call("scaleSingularityRequest(String,SingularityScaleRequest)", "web", scale(2));
      runs("web", 2);
    }
    Set<Object> before = tasks("web");
    SingularityBounceRequest bounce = new SingularityBounceRequest(of(true), of(true), empty(), of("mine"), of("anew"), empty());
    Predicate<Object> replaced = Machines.none(() -> {
      ledger.await("other tasks of web", () -> Collections.disjoint(before, tasks("web")) && settled("web", before.size()));
      return true;
    });
    ledger.check("bounceSingularityRequest(String,Optional)", replaced, "web", of(bounce));
    SingularityPauseRequest pause = new SingularityPauseRequest(of(true), empty(), empty(), of("tired"), empty());
    ledger.check("pauseSingularityRequest(String,Optional)", Machines.none(() -> state("rest") == RequestState.PAUSED), "rest", of(pause));
    ledger.check("getPausedSingularityRequests()", (Collection<SingularityRequestParent> paused) -> ids(paused).equals(Collections.singleton("rest")));
    ledger.await("no task of rest", () -> tasks("rest").isEmpty());
    SingularityUnpauseRequest unpause = new SingularityUnpauseRequest(of("awake"), empty(), empty());
    ledger.check("unpauseSingularityRequest(String,Optional)", Machines.none(() -> runs("rest", 1)), "rest", of(unpause));
  }

  /** What waits to be looked at, while nothing looks. */
  private void queues() {
    disable(SingularityAction.RUN_SCHEDULER_POLLER);
    String runId = "waits";
    SingularityRunNowRequest run = new SingularityRunNowRequest(of("now"), empty(), of(runId), of(Arrays.asList("1", "0.1")), empty());
    Predicate<SingularityPendingRequestParent> asked = parent -> parent.getPendingRequest().getRunId().equals(of(runId)) && parent.getRequest().getId().equals("job");
    ledger.check("runSingularityRequest(String,Optional)", asked, "job", of(run));
    Predicate<Collection<SingularityPendingRequest>> waits = list -> list.stream().anyMatch(pending -> pending.getRunId().equals(of(runId)));
    ledger.check("getPendingSingularityRequests()", waits);
    enable(SingularityAction.RUN_SCHEDULER_POLLER);
    disable(SingularityAction.RUN_CLEANUP_POLLER);
    Optional<SingularityDeleteRequestRequest> delete = of(new SingularityDeleteRequestRequest(of("no more"), empty(), of(true)));
    Predicate<Optional<SingularityRequest>> deleted = request -> request.get().getId().equals("gone") && state("gone") == RequestState.DELETING;
    ledger.check("deleteSingularityRequest(String,Optional)", deleted, "gone", delete);
    Predicate<Collection<SingularityRequestCleanup>> cleaning = list -> list.stream().anyMatch(cleanup -> cleanup.getRequestId().equals("gone") && cleanup.getMessage().equals(of("no more")));
    ledger.check("getCleanupSingularityRequests()", cleaning);
    enable(SingularityAction.RUN_CLEANUP_POLLER);
    ledger.await("gone to be gone", () -> !ledger.<Optional<?>>call("getSingularityRequest(String)", "gone").isPresent());
  }

  private void histories() {
    Predicate<Collection<SingularityRequestHistory>> newest = list -> list.size() == 2 && list.iterator().next().getRequest().getId().equals("web");
    ledger.check("getHistoryForRequest(String,Optional,Optional)", newest, "web", of(2), of(1));
    Predicate<Collection<SingularityRequestHistory>> oldest = list -> list.iterator().next().getEventType() == SingularityRequestHistory.RequestHistoryType.CREATED;
    Object ascending = com.hubspot.singularity.OrderDirection.ASC;
    long now = System.currentTimeMillis() + 60_000;
    ledger.check("getHistoryForRequest(String,Optional,Optional,Optional,Optional,Optional)", oldest, "web", of(now), of(1L), of(ascending), of(5), of(1));
    Predicate<Optional<SingularityDeployHistory>> first = deploy ->
      deploy.get().getDeployMarker().getMessage().equals(of("the first")) && deploy.get().getDeploy().get().getId().equals("d1") && deploy.get().getDeployStatistics().isPresent();
    ledger.check("getHistoryForRequestDeploy(String,String)", first, "web", "d1");
    Predicate<Collection<SingularityDeployHistory>> one = list -> list.size() == 1 && list.iterator().next().getDeployMarker().getDeployId().equals("d1");
    ledger.check("getRequestDeployHistories(String,Integer,Integer,Optional)", one, "web", 10, 1, of(false));
  }

  private void ends() {
    fail();
    ledger.eventually("getCoolDownSingularityRequests()", (Collection<SingularityRequestParent> list) -> ids(list).contains("cooling"));
    Predicate<Collection<CrashLoopInfo>> loops = list ->
      list.size() == 1 && list.stream().allMatch(loop -> loop.getRequestId().equals("logged") && loop.getDeployId().equals("d1") && loop.getType() == CrashLoopType.OOM);
    ledger.check("getCrashLoopsForRequest(String)", loops, "logged");
    ledger.check("getAllCrashLoops()", (Map<String, List<CrashLoopInfo>> all) -> loops.test(all.get("logged")));
    Optional<SingularityExitCooldownRequest> exit = of(new SingularityExitCooldownRequest(of("mended"), empty(), of(true)));
    Predicate<Object> left = Machines.none(() -> ledger.read("history/request/cooling/requests").toString().contains("EXITED_COOLDOWN"));
    ledger.check("exitCooldown(String,Optional)", left, "cooling", exit);
    for (String id : new String[] { "cooling", "step", "slow" }) ledger.call("deleteSingularityRequest(String,Optional)", id, empty());
  }

  private void fail() {
    try {
      Files.createFile(sign);
    } catch (IOException cause) {
      throw new IllegalStateException(cause);
    }
  }

  private static SingularityRequestBuilder service(String id) {
    return new SingularityRequestBuilder(id, RequestType.SERVICE);
  }

  /** Healthy as soon as it runs. */
  private static SingularityDeployBuilder small(String requestId, String id, String command) {
    return new SingularityDeployBuilder(requestId, id).setCommand(of(command)).setResources(of(new Resources(0.1, 16, 0))).setConsiderHealthyAfterRunningForSeconds(of(0L));
  }

  private static SingularityScaleRequest scale(int instances) {
    return new SingularityScaleRequest(of(instances), empty(), empty(), empty(), of("as many"), empty(), empty());
  }

  private void save(SingularityRequestBuilder request) {
    ledger.call("createOrUpdateSingularityRequest(SingularityRequest)", request.build());
  }

  private void deploy(SingularityDeploy deploy) {
    ledger.call("createDeployForSingularityRequest(String,SingularityDeploy,Optional,Optional)", deploy.getRequestId(), deploy, empty(), empty());
  }

  private void disable(SingularityAction action) {
    ledger.call("disableAction(SingularityAction,Optional)", action, empty());
  }

  private void enable(SingularityAction action) {
    ledger.call("enableAction(SingularityAction)", action);
  }

  private SingularityRequestParent request(String id) {
    return ledger.<Optional<SingularityRequestParent>>call("getSingularityRequest(String)", id).get();
  }

  /** Optional in some versions. */
  private Object progress(String id, String getter) {
    return Ledger.member(Ledger.member(request(id).getPendingDeployState().get(), "getDeployProgress"), getter);
  }

  private RequestState state(String id) {
    return request(id).getState();
  }

  private void active(String id) {
    ledger.await("the deploy of " + id, () -> request(id).getRequestDeployState().get().getActiveDeploy().isPresent());
  }

  private String result(String requestId, String deployId) {
    Optional<SingularityDeployHistory> history = ledger.call("getHistoryForRequestDeploy(String,String)", requestId, deployId);
    return history.get().getDeployResult().get().getDeployState().name();
  }

  private Set<Object> tasks(String id) {
    return new HashSet<>(request(id).getTaskIds().get().getHealthy());
  }

  private boolean settled(String id, int count) {
    var tasks = request(id).getTaskIds().get();
    return tasks.getHealthy().size() == count && tasks.getCleaning().isEmpty() && tasks.getPending().isEmpty() && tasks.getKilled().isEmpty();
  }

  private boolean runs(String id, int count) {
    ledger.await(count + " tasks of " + id, () -> settled(id, count));
    return true;
  }

  private static Set<String> ids(Collection<SingularityRequestParent> requests) {
    Set<String> ids = new HashSet<>();
    for (SingularityRequestParent request : requests) ids.add(request.getRequest().getId());
    return ids;
  }
}
