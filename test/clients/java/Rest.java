import static java.util.Optional.empty;
import static java.util.Optional.of;

import com.hubspot.singularity.SingularityAction;
import com.hubspot.singularity.SingularityAuthorizationScope;
import com.hubspot.singularity.SingularityClusterUtilization;
import com.hubspot.singularity.SingularityDeleteResult;
import com.hubspot.singularity.SingularityDeployUpdate;
import com.hubspot.singularity.SingularityDisabledAction;
import com.hubspot.singularity.SingularityDisasterType;
import com.hubspot.singularity.SingularityDisastersData;
import com.hubspot.singularity.SingularityPriorityFreezeParent;
import com.hubspot.singularity.SingularityRequestGroup;
import com.hubspot.singularity.SingularityRequestHistory;
import com.hubspot.singularity.SingularityState;
import com.hubspot.singularity.SingularityTaskHistoryUpdate;
import com.hubspot.singularity.SingularityTaskReconciliationStatistics;
import com.hubspot.singularity.SingularityWebhook;
import com.hubspot.singularity.WebhookType;
import com.hubspot.singularity.api.SingularityDisabledActionRequest;
import com.hubspot.singularity.api.SingularityPriorityFreeze;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Optional;
import java.util.function.Predicate;

/** What is said of the whole installation, and what is set for all of it. */
final class Rest {

  static void drive(Ledger ledger) {
    Predicate<SingularityState> state = now ->
      now.getActiveTasks() >= 3 && now.getActiveAgents() == 4 && now.getActiveSlaves() == 4 && now.getActiveRequests() >= 3 && now.getHostStates().size() == 1;
    ledger.check("getState(Optional,Optional)", state, of(true), of(true));
    ledger.check("getScheduledTasksInfo()", (Object info) -> info.toString().matches(".*numFutureTasks[1-9].*timestamp[1-9].*"));
    Predicate<Optional<SingularityTaskReconciliationStatistics>> reconciled = found -> found.get().getTaskReconciliationStartedAt() > 0 && found.get().getTaskReconciliationIterations() >= 0;
    ledger.eventually("getTaskReconciliationStatistics()", reconciled);
    Predicate<Optional<SingularityClusterUtilization>> used = found -> found.get().getTotalMemBytesAvailable() > 0 && found.get().getTotalCpuAvailable() > 0;
    ledger.eventually("getClusterUtilization()", used);
    ledger.check("getSingularityLimits()", (Optional<?> limits) -> limits.isPresent() && ledger.read("configuration/singularity-limits").get("maxDecommissioningAgents").asInt() == 3);
    webhooks(ledger);
    groups(ledger);
    disasters(ledger);
    freeze(ledger);
    people(ledger);
  }

  private static void webhooks(Ledger ledger) {
    Predicate<Collection<SingularityWebhook>> three = list -> list.size() == 3 && list.stream().allMatch(hook -> hook.getUri().startsWith("http://127.0.0.1:9/"));
    ledger.check("getActiveWebhook()", three);
    Predicate<Collection<SingularityDeployUpdate>> deploys = list -> list.stream().anyMatch(update -> update.getDeployMarker().getRequestId().equals("web") && update.getDeploy().isPresent());
    ledger.check("getQueuedDeployUpdates(String)", deploys, id(ledger, WebhookType.DEPLOY));
    Predicate<Collection<SingularityRequestHistory>> requests = list -> list.stream().anyMatch(update -> update.getRequest().getId().equals("web"));
    ledger.check("getQueuedRequestUpdates(String)", requests, id(ledger, WebhookType.REQUEST));
    Predicate<Collection<SingularityTaskHistoryUpdate>> tasks = list -> !list.isEmpty() && list.stream().allMatch(update -> update.getTaskState() != null && update.getTimestamp() > 0);
    ledger.check("getQueuedTaskUpdates(String)", tasks, id(ledger, WebhookType.TASK));
    Predicate<Optional<SingularityDeleteResult>> deleted = result -> result.get() == SingularityDeleteResult.DELETED && !ledger.read("webhooks").toString().contains("127.0.0.1:9/TASK");
    ledger.check("deleteWebhook(String)", deleted, id(ledger, WebhookType.TASK));
  }

  private static String id(Ledger ledger, WebhookType type) {
    Collection<SingularityWebhook> all = ledger.call("getActiveWebhook()");
    return all.stream().filter(webhook -> webhook.getType() == type).findFirst().get().getId();
  }

  private static void groups(Ledger ledger) {
    SingularityRequestGroup group = new SingularityRequestGroup("ours", Arrays.asList("web", "rest"), Collections.singletonMap("a", "b"));
    Predicate<Optional<SingularityRequestGroup>> same = saved ->
      saved.get().getRequestIds().equals(Arrays.asList("web", "rest")) && saved.get().getMetadata().equals(Collections.singletonMap("a", "b"));
    ledger.check("saveRequestGroup(SingularityRequestGroup)", same, group);
    ledger.check("getRequestGroup(String)", same, "ours");
    ledger.check("getRequestGroups()", (Collection<SingularityRequestGroup> all) -> all.size() == 1 && same.test(all.stream().findFirst()));
    ledger.check("deleteRequestGroup(String)", Machines.none(() -> ledger.read("groups").toString().equals("[]")), "ours");
  }

  private static void disasters(Ledger ledger) {
    SingularityDisasterType type = SingularityDisasterType.USER_INITIATED;
    Predicate<Collection<SingularityDisasterType>> active = all -> all.contains(type);
    ledger.check("activateDisaster(SingularityDisasterType)", Machines.none(() -> ledger.read("disasters/active").toString().contains("USER_INITIATED")), type);
    ledger.check("getActiveDisasters()", active);
    Predicate<Optional<SingularityDisastersData>> stats = data ->
      data.get().getStats().stream().anyMatch(point -> point.getNumActiveAgents() == 4 && point.getNumActiveTasks() > 0) &&
      data.get().getDisasters().stream().anyMatch(disaster -> disaster.getType() == type && disaster.isActive()) &&
      !data.get().isAutomatedActionsDisabled();
    ledger.eventually("getDisasterStats()", stats);
    ledger.check("removeDisaster(SingularityDisasterType)", Machines.none(() -> ledger.read("disasters/active").toString().equals("[]")), type);
    ledger.check("disableAutomatedDisasterCreation()", Machines.none(() -> isOff(ledger)));
    ledger.check("enableAutomatedDisasterCreation()", Machines.none(() -> !isOff(ledger)));
    SingularityAction action = SingularityAction.BOUNCE_REQUEST;
    Optional<SingularityDisabledActionRequest> said = of(new SingularityDisabledActionRequest(action, of("month end")));
    ledger.check("disableAction(SingularityAction,Optional)", Machines.none(() -> ledger.read("disasters/disabled-actions").size() == 1), action, said);
    Predicate<Collection<SingularityDisabledAction>> disabled = all -> all.size() == 1 && all.stream().allMatch(each -> each.getType() == action && each.getMessage().contains("month end"));
    ledger.check("getDisabledActions()", disabled);
    ledger.check("enableAction(SingularityAction)", Machines.none(() -> ledger.read("disasters/disabled-actions").toString().equals("[]")), action);
  }

  private static boolean isOff(Ledger ledger) {
    Optional<SingularityDisastersData> data = ledger.call("getDisasterStats()");
    return data.get().isAutomatedActionsDisabled();
  }

  private static void freeze(Ledger ledger) {
    Predicate<Optional<SingularityPriorityFreezeParent>> frozen = freeze ->
      freeze.get().getPriorityFreeze().getMinimumPriorityLevel() == 0.25 && freeze.get().getPriorityFreeze().getMessage().equals(of("busy")) && freeze.get().getTimestamp() > 0;
    ledger.check("createPriorityFreeze(SingularityPriorityFreeze)", frozen, new SingularityPriorityFreeze(0.25, false, of("busy"), empty()));
    ledger.check("getActivePriorityFreeze()", frozen);
    Predicate<Object> over = Machines.none(() -> !ledger.<Optional<?>>call("getActivePriorityFreeze()").isPresent());
    ledger.check("deletePriorityFreeze()", over);
  }

  private static void people(Ledger ledger) {
    SingularityAuthorizationScope scope = SingularityAuthorizationScope.WRITE;
    ledger.check("isUserAuthorized(String,SingularityAuthorizationScope)", (Boolean may) -> may, "web", scope);
    ledger.check("isUserAuthorized(String,String,SingularityAuthorizationScope)", (Boolean may) -> may, "web", "ann", scope);
    Predicate<Object> subscribed = Machines.none(() -> ledger.read("notifications/allowlist").toString().equals("[\"ann@a.example\"]"));
    ledger.check("subscribeToNotifications(String)", subscribed, "ann@a.example");
    ledger.check("getNotificationAllowlist()", (Collection<String> all) -> all.size() == 1 && all.contains("ann@a.example"));
    Predicate<Object> unsubscribed = Machines.none(() -> ledger.read("notifications/blocklist").toString().contains("ann@a.example") && ledger.read("notifications/allowlist").toString().equals("[]"));
    ledger.check("unsubscribeFromNotification(String)", unsubscribed, "ann@a.example");
  }
}
