import static java.util.Optional.empty;
import static java.util.Optional.of;

import com.hubspot.mesos.json.MesosFileChunkObject;
import com.hubspot.singularity.ExtendedTaskState;
import com.hubspot.singularity.OrderDirection;
import com.hubspot.singularity.SingularityPendingRequestParent;
import com.hubspot.singularity.SingularityPendingTaskId;
import com.hubspot.singularity.SingularityS3Log;
import com.hubspot.singularity.SingularitySandbox;
import com.hubspot.singularity.SingularityShellCommand;
import com.hubspot.singularity.SingularityTask;
import com.hubspot.singularity.SingularityTaskCleanup;
import com.hubspot.singularity.SingularityTaskHistory;
import com.hubspot.singularity.SingularityTaskHistoryUpdate;
import com.hubspot.singularity.SingularityTaskId;
import com.hubspot.singularity.SingularityTaskIdHistory;
import com.hubspot.singularity.SingularityTaskIdsByStatus;
import com.hubspot.singularity.SingularityTaskRequest;
import com.hubspot.singularity.SingularityTaskShellCommandHistory;
import com.hubspot.singularity.SingularityTaskShellCommandRequest;
import com.hubspot.singularity.SingularityTaskShellCommandUpdate;
import com.hubspot.singularity.SingularityTaskState;
import com.hubspot.singularity.TaskCleanupType;
import com.hubspot.singularity.api.SingularityKillTaskRequest;
import com.hubspot.singularity.api.SingularityRunNowRequest;
import com.hubspot.singularity.api.SingularityS3SearchRequest;
import com.hubspot.singularity.api.SingularityS3SearchResult;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/** Tasks that run, wait and have ended: of 'web', 'cron' and 'job' (see Requests); logs of a task of 'logged'. */
final class Tasks {
  private final Ledger ledger;
  private final String logged;
  private SingularityTaskId web;

  Tasks(Ledger ledger, String logged) {
    this.ledger = ledger;
    this.logged = logged;
  }

  void drive() {
    Optional<SingularityTaskIdsByStatus> ids = ledger.call("getTaskIdsByStatusForRequest(String)", "web");
    web = ids.get().getHealthy().get(0);
    lists();
    runs();
    files();
    commands();
    kill();
    histories();
    logs();
  }

  private void lists() {
    Predicate<Collection<SingularityTask>> tasks = list -> list.stream().filter(task -> task.getTaskId().equals(web)).anyMatch(this::isWhole);
    ledger.check("getActiveTasks()", tasks);
    Predicate<Collection<SingularityTaskId>> ids = list -> list.contains(web);
    ledger.check("getActiveTasksIds()", ids);
    String machine = this.<SingularityTaskHistory>one("getHistoryForTask(String)", web.getId()).getTask().getAgentId().getValue();
    ledger.check("getActiveTasksOnAgent(String)", tasks, machine);
    ledger.check("getActiveTasksOnSlave(String)", tasks, machine);
    ledger.check("getActiveTaskIdsOnAgent(String)", ids, machine);
    ledger.check("getActiveTaskIdsOnSlave(String)", ids, machine);
    Predicate<Map<SingularityTaskId, List<SingularityTaskHistoryUpdate>>> states = all ->
      all.get(web).stream().anyMatch(update -> update.getTaskState() == ExtendedTaskState.TASK_RUNNING);
    ledger.check("getActiveTaskStates()", states);
    Predicate<Optional<SingularityTaskIdsByStatus>> byStatus = all -> all.get().getHealthy().contains(web) && all.get().getPending().isEmpty();
    ledger.check("getTaskIdsByStatusForRequest(String)", byStatus, "web");
    ledger.check("getTaskCountsByStatusForRequest(String)", (Optional<?> counts) -> counts.get().toString().contains("active=2, pending=0, cleaning=0"), "web");
    Predicate<Collection<SingularityTaskRequest>> scheduled = list ->
      list.stream().anyMatch(task -> task.getRequest().getId().equals("cron") && task.getDeploy().getId().equals("d1") && task.getPendingTask().getPendingTaskId().getNextRunAt() > 0);
    ledger.check("getScheduledTasks()", scheduled);
    ledger.check("getScheduledTaskIds()", (Collection<SingularityPendingTaskId> list) -> list.stream().anyMatch(id -> id.getRequestId().equals("cron")));
    Predicate<Collection<SingularityTaskIdHistory>> running = list ->
      list.stream().anyMatch(task -> task.getTaskId().equals(web) && task.getLastTaskState().equals(of(ExtendedTaskState.TASK_RUNNING)));
    ledger.check("getActiveTaskHistoryForRequest(String)", running, "web");
  }

  /** With its ports among the resources, which the client looks for by itself. */
  private boolean isWhole(SingularityTask task) {
    return (
      task.getTaskRequest().getDeploy().getId().equals("d1") &&
      task.getTaskRequest().getPendingTask().getPendingTaskId().getRequestId().equals("web") &&
      task.getHostname().equals("localhost") &&
      task.getPortByIndex(1).isPresent() &&
      !task.getPortByIndex(2).isPresent() &&
      !task.getOffers().isEmpty() &&
      task.getMesosTask().getTaskId().getValue().equals(web.getId())
    );
  }

  private void runs() {
    ended("job", "waits");
    SingularityRunNowRequest run = new SingularityRunNowRequest(of("again"), empty(), of("second"), of(Arrays.asList("1")), empty());
    Predicate<SingularityPendingRequestParent> asked = parent -> parent.getPendingRequest().getRunId().equals(of("second"));
    ledger.check("runSingularityRequest(String,Optional,boolean)", asked, "job", of(run), true);
    Predicate<Optional<SingularityTaskId>> ofRun = id -> id.get().getRequestId().equals("job") && id.get().getDeployId().equals("d1");
    ledger.eventually("getTaskByRunIdForRequest(String,String)", ofRun, "job", "second");
    ended("job", "second");
    Predicate<Optional<SingularityTaskState>> finished = state ->
      state.get().getCurrentState().equals(of(ExtendedTaskState.TASK_FINISHED)) && state.get().getRunId().equals(of("second")) && !state.get().isPending();
    ledger.check("getTaskState(String,String)", finished, "job", "second");
    Predicate<Optional<SingularityTaskIdHistory>> past = task -> task.get().getLastTaskState().equals(of(ExtendedTaskState.TASK_FINISHED));
    ledger.check("getTaskIdHistoryByRunId(String,String)", past, "job", "second");
    ledger.check("getHistoryForTask(String,String)", past, "job", "second");
    Predicate<Optional<SingularityTaskState>> runs = state -> state.get().getCurrentState().equals(of(ExtendedTaskState.TASK_RUNNING)) && state.get().getTaskId().get().equals(web);
    ledger.check("getTaskState(String)", runs, web.getId());
  }

  private void ended(String requestId, String runId) {
    ledger.await("the end of run " + runId, () -> this.<SingularityTaskState>one("getTaskState(String,String)", requestId, runId).isDone());
  }

  private void files() {
    Predicate<Optional<SingularitySandbox>> sandbox = found ->
      found.get().getAgentHostname().equals("localhost") && found.get().getFiles().stream().anyMatch(file -> file.getName().equals("stdout") && file.getSize() > 0);
    ledger.eventually("browseTaskSandBox(String,String)", sandbox, web.getId(), "");
    Predicate<Optional<MesosFileChunkObject>> hello = chunk -> chunk.get().getData().equals("hello from") && chunk.get().getOffset() == 0;
    ledger.check("readSandBoxFile(String,String,Optional,Optional,Optional)", hello, web.getId(), "stdout", empty(), of(0L), of(10L));
  }

  private void commands() {
    SingularityShellCommand look = new SingularityShellCommand("look", empty(), of("ann"), empty());
    Predicate<SingularityTaskShellCommandRequest> started = request -> request.getTaskId().equals(web) && request.getShellCommand().getName().equals("look");
    ledger.check("startShellCommand(String,SingularityShellCommand)", started, web.getId(), look);
    Predicate<Collection<SingularityTaskShellCommandHistory>> finished = list ->
      list.stream().anyMatch(each -> started.test(each.getShellRequest()) && each.getShellUpdates().stream().anyMatch(Tasks::isEnd));
    ledger.eventually("getShellCommandHistory(String)", finished, web.getId());
    Collection<SingularityTaskShellCommandHistory> history = ledger.call("getShellCommandHistory(String)", web.getId());
    Predicate<Collection<SingularityTaskShellCommandUpdate>> updates = list -> list.size() == 3 && list.stream().anyMatch(Tasks::isEnd);
    ledger.check("getShellCommandUpdates(SingularityTaskShellCommandRequest)", updates, history.iterator().next().getShellRequest());
  }

  private static boolean isEnd(SingularityTaskShellCommandUpdate update) {
    return update.getUpdateType() == SingularityTaskShellCommandUpdate.UpdateType.FINISHED && update.getOutputFilename().isPresent();
  }

  private void kill() {
    SingularityKillTaskRequest why = new SingularityKillTaskRequest(empty(), of("bye"), of("mine"), empty(), empty());
    Predicate<Optional<SingularityTaskCleanup>> cleanup = task ->
      task.get().getTaskId().equals(web) && task.get().getCleanupType() == TaskCleanupType.USER_REQUESTED && task.get().getMessage().equals(of("bye"));
    ledger.check("killTask(String,Optional)", cleanup, web.getId(), of(why));
    Predicate<Optional<SingularityTaskHistory>> killed = task ->
      task.get().getLastTaskUpdate().get().getTaskState() == ExtendedTaskState.TASK_KILLED && task.get().getTask().getTaskId().equals(web) && task.get().getShellCommandHistory().size() == 1;
    ledger.eventually("getHistoryForTask(String)", killed, web.getId());
  }

  private void histories() {
    Predicate<Collection<SingularityTaskIdHistory>> both = list -> list.size() == 2 && list.iterator().next().getRunId().equals(of("second"));
    Predicate<Collection<SingularityTaskIdHistory>> first = list -> list.size() == 1 && list.iterator().next().getRunId().equals(of("waits"));
    Predicate<Collection<SingularityTaskIdHistory>> second = list -> list.size() == 1 && list.iterator().next().getRunId().equals(of("second"));
    String ofRequest = "getInactiveTaskHistoryForRequest";
    ledger.eventually(ofRequest + "(String)", both, "job");
    ledger.check(ofRequest + "(String,String)", both, "job", "d1");
    ledger.check(ofRequest + "(String,int,int)", first, "job", 1, 2);
    long soon = System.currentTimeMillis() + 60_000;
    Object finished = of(ExtendedTaskState.TASK_FINISHED);
    Object rising = of(OrderDirection.ASC);
    String span = "Optional,Optional,Optional,Optional,Optional,Optional,Optional";
    ledger.check(ofRequest + "(String,int,int,Optional," + span + ")", second, "job", 10, 1, of("localhost"), of("second"), finished, of(soon), of(1L), of(soon), of(1L), rising);
    ledger.check(ofRequest + "(String,int,int,Optional,Optional," + span + ")", first, "job", 1, 1, of("localhost"), of("d1"), empty(), finished, of(soon), of(1L), of(soon), of(1L), rising);
    String all = "(Optional,Optional,Optional," + span + ",Integer,Integer)";
    Object[] search = { of("job"), of("d1"), empty(), of("localhost"), finished, of(soon), of(1L), of(soon), of(1L), rising, 1, 1 };
    ledger.check("getTaskHistory" + all, first, search);
    String why = "cannot read any page of tasks: its class for pages has no constructor for Jackson";
    ledger.fault("getTaskHistoryWithMetadata" + all, why, cause -> String.valueOf(cause.getCause()).contains("no Creators") || cause.toString().contains("no Creators"), search);
  }

  /** Two files of 'logged' lie in the object store. */
  private void logs() {
    Predicate<Collection<SingularityS3Log>> files = list ->
      list.size() == 2 && list.stream().allMatch(file -> file.getKey().contains(logged) && file.getGetUrl().startsWith("http") && file.getStartTime().isPresent());
    ledger.check("getTaskLogs(String)", files, logged);
    ledger.check("getRequestLogs(String)", files, "logged");
    long now = System.currentTimeMillis();
    ledger.check("getRequestLogs(String,Optional,Optional)", files, "logged", of(now - 86_400_000), of(now + 86_400_000));
    ledger.check("getDeployLogs(String,String)", files, "logged", "d1");
    SingularityS3SearchRequest search = new SingularityS3SearchRequest(
      Collections.singletonMap("logged", Collections.singletonList("d1")), Collections.emptyList(), empty(), empty(), false, false, of(10), Collections.emptyMap());
    ledger.check("getLogs(SingularityS3SearchRequest)", (SingularityS3SearchResult found) -> found.getResults().size() == 2 && found.isLastPage(), search);
  }

  private <T> T one(String signature, Object... arguments) {
    return ledger.<Optional<T>>call(signature, arguments).get();
  }
}
