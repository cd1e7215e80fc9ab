import java.nio.file.Files;
import java.nio.file.Path;

/** What is asked of the client, in an order in which each has something to be about. */
final class Story {
  private static final String why = "{'message':'because'}";
  private final Driver client;
  /** An ended task of 'logged', of which two files lie in the object store. */
  private final String logged;
  /** A file: when it is there, the task of 'cooling' fails. */
  private final Path sign;

  Story(Driver client, String logged, String sign) {
    this.client = client;
    this.logged = logged;
    this.sign = Path.of(sign);
  }

  void tell() {
    try {
      webhooks();
      requests();
      deploys();
      tasks();
      changes();
      ends();
      logs();
      machines();
      rest();
    } catch (Exception cause) {
      throw new IllegalStateException(cause);
    }
  }

  private void webhooks() {
    String add = "addWebhook(SingularityWebhook)";
    client.answers(add, "{'uri':'http://127.0.0.1:9/d','type':'DEPLOY','timestamp':1}", "^'CREATED'$");
    client.answers(add, "{'uri':'http://127.0.0.1:9/r','type':'REQUEST','timestamp':1}", "^'CREATED'$");
    client.answers(add, "{'uri':'http://127.0.0.1:9/t','type':'TASK','timestamp':1}", "^'CREATED'$");
  }

  private void requests() throws Exception {
    String save = "createOrUpdateSingularityRequest(SingularityRequest)";
    client.does(save, "{'id':'web','requestType':'SERVICE','instances':2,'owners':['ann@a.example']}", "requests/request/web", "'owners':\\['ann@a.example'\\],'instances':2");
    client.does(save, "{'id':'job','requestType':'ON_DEMAND'}", "requests/request/job", "'requestType':'ON_DEMAND'");
    client.does(save, "{'id':'cron','requestType':'SCHEDULED','schedule':'0 0 1 1 *'}", "requests/request/cron", "'schedule':'0 0 1 1 \\*'");
    for (String id : new String[] { "step", "slow", "cooling", "rest" }) client.plain("POST", "requests", "{'id':'" + id + "','requestType':'SERVICE'}");
    String group = "{'id':'ours','requestIds':['web'],'metadata':{'a':'b'}}";
    String isGroup = "'id':'ours','requestIds':\\['web'\\],'metadata':\\{'a':'b'\\}";
    client.answers("saveRequestGroup(SingularityRequestGroup)", group, isGroup);
    client.answers("getRequestGroup(String)", "'ours'", isGroup);
    client.answers("getRequestGroups()", "", "^\\[\\{" + isGroup + "\\}\\]$");
    client.does("deleteRequestGroup(String)", "'ours'", "groups", "^200 \\[\\]$");
  }

  private static String deploy(String requestId, String command, String more) {
    String common = "'considerHealthyAfterRunningForSeconds':0,'resources':{'cpus':0.1,'memoryMb':16,'numPorts':1,'diskMb':0}";
    return "'" + requestId + "',{'requestId':'" + requestId + "','id':'d1','command':'" + command + "'," + common + more + "}";
  }

  private void deploys() {
    String simple = "createDeployForSingularityRequest(String,SingularityDeploy,Optional,Optional)";
    String updating = "createDeployForSingularityRequest(String,SingularityDeploy,Optional,Optional,Optional)";
    client.answers(simple, deploy("web", "echo hello from here; exec sleep 600", ",'env':{'A':'b'}") + ",null,'the first'", "'id':'web'.*'env':\\{'A':'b'\\}");
    client.answers(updating, deploy("step", "exec sleep 600", ",'deployInstanceCountPerStep':1,'autoAdvanceDeploySteps':false") + ",null,null,{'id':'step','requestType':'SERVICE','instances':2}", "'updatedRequest':\\{[^}]*'instances':2");
    client.answers(simple, deploy("slow", "exec sleep 600", "").replace("Seconds':0", "Seconds':600") + ",null,null", "'currentDeployState':'WAITING'");
    client.answers("cancelPendingDeployForSingularityRequest(String,String)", "'slow','d1'", "'request':\\{'id':'slow'");
    client.eventually("getHistoryForRequestDeploy(String,String)", "'slow','d1'", "'deployState':'CANCELED'");
    client.answers(simple, deploy("cooling", "while [ ! -e " + sign + " ]; do sleep 0.2; done; exit 1", "") + ",null,null", "'requestId':'cooling'");
    client.answers(simple, deploy("rest", "exec sleep 600", "") + ",null,null", "'requestId':'rest'");
    client.answers(simple, deploy("job", "sleep", "") + ",null,null", "'activeDeploy':\\{'requestId':'job'");
    client.answers(simple, deploy("cron", "true", "") + ",null,null", "'activeDeploy':\\{'requestId':'cron'");
    String one = "getSingularityRequest(String)";
    client.eventually(one, "'step'", "'currentActiveInstances':1");
    client.answers("updateIncrementalDeployInstanceCount(SingularityUpdatePendingDeployRequest)", "{'requestId':'step','deployId':'d1','targetActiveInstances':2}", "'pendingDeploy':.*'id':'d1'");
    for (String id : new String[] { "step", "rest", "cooling", "web" }) {
      client.eventually(one, "'" + id + "'", "'state':'ACTIVE'.*'requestDeployState':\\{'requestId':'" + id + "','activeDeploy':\\{'requestId':'" + id + "','deployId':'d1'");
    }
    client.answers("getHistoryForRequestDeploy(String,String)", "'web','d1'", "'deployState':'SUCCEEDED'.*'message':'the first'.*'command':'echo hello");
    client.answers("getSingularityRequests()", "", "'id':'cron'.*'id':'web'");
    client.answers("getActiveSingularityRequests()", "", "'id':'job'.*'id':'web'");
  }

  private void tasks() throws Exception {
    String web = client.eventually("getActiveTaskHistoryForRequest(String)", "'web'", "'id':'(web-d1-[^']+)'.*'lastTaskState':'TASK_RUNNING'");
    client.eventually("getActiveTasks()", "", "'taskId':\\{[^}]*'id':'" + web + "'.*'mesosTask'|'mesosTask'.*'id':'" + web + "'");
    String n = client.answers("getHistoryForTask(String)", "'" + web + "'", "'rackId':'rack(\\d)'.*'taskState':'TASK_RUNNING'");
    client.answers("getActiveTasksOnSlave(String)", "'slave" + n + "'", web);
    client.eventually("browseTaskSandBox(String,String)", "'" + web + "',''", "'name':'stdout'");
    client.eventually("readSandBoxFile(String,String,Optional,Optional,Optional)", "'" + web + "','stdout',null,0,10", "'data':'hello from','offset':0");
    client.answers("getScheduledTaskIds()", "", "'requestId':'cron','deployId':'d1'");
    client.answers("getScheduledTasks()", "", "'request':\\{'id':'cron'.*'pendingTaskId'");

    client.plain("POST", "disasters/disabled-actions/RUN_SCHEDULER_POLLER", "{}");
    client.answers("runSingularityRequest(String,Optional)", "'job',{'runId':'r1','commandLineArgs':['1']}", "'pendingRequest':\\{.*'runId':'r1'");
    client.answers("getPendingSingularityRequests()", "", "'runId':'r1'");
    client.plain("DELETE", "disasters/disabled-actions/RUN_SCHEDULER_POLLER", "");
    client.eventually("getTaskByRunIdForRequest(String,String)", "'job','r1'", "'requestId':'job','deployId':'d1'");
    String finished = "'requestId':'job'.*'runId':'r1','lastTaskState':'TASK_FINISHED'\\}";
    client.eventually("getInactiveTaskHistoryForRequest(String)", "'job'", finished);
    client.answers("getInactiveTaskHistoryForRequest(String,int,int)", "'job',5,1", finished);
    client.answers("getInactiveTaskHistoryForRequest(String,int,int,Optional,Optional,Optional,Optional,Optional,Optional,Optional,Optional)", "'job',5,1,'localhost','r1','TASK_FINISHED',null,1,null,1,'ASC'", finished);
    client.answers("getHistoryForTask(String,String)", "'job','r1'", finished);
    String search = "'job','d1',null,'localhost','TASK_FINISHED',null,1,null,1,'ASC',1,1";
    String types = "(Optional,Optional,Optional,Optional,Optional,Optional,Optional,Optional,Optional,Optional,Integer,Integer)";
    client.answers("getTaskHistory" + types, search, "^\\[\\{.*" + finished + "\\]$");
    client.fault("getTaskHistoryWithMetadata" + types, search, "cannot read any page of tasks: its class for pages has no constructor for Jackson", saw -> saw.contains("onstruct"));
  }

  private void changes() {
    client.does("scaleSingularityRequest(String,SingularityScaleRequest)", "'web',{'instances':3}", "requests/request/web", "'instances':3");
    client.eventually("getSingularityRequest(String)", "'web'", "'instances':3");
    client.does("bounceSingularityRequest(String,Optional)", "'web',{'incremental':true,'durationMillis':3600000}", "requests/request/web", "'expiringBounce':\\{.*'incremental':true");
    client.does("pauseSingularityRequest(String,Optional)", "'rest',{'killTasks':true,'message':'tired'}", "requests/request/rest", "'state':'PAUSED'");
    client.answers("getPausedSingularityRequests()", "", "^\\[\\{'request':\\{'id':'rest'");
    client.does("unpauseSingularityRequest(String,Optional)", "'rest'," + why, "requests/request/rest", "'state':'ACTIVE'");
    client.answers("getHistoryForRequest(String,Optional,Optional)", "'rest',2,1", "'eventType':'UNPAUSED'.*'message':'because'.*'eventType':'PAUSED'");
    String step = client.eventually("getActiveTaskHistoryForRequest(String)", "'step'", "'id':'(step-d1-[^']+)'");
    client.answers("killTask(String,Optional)", "'" + step + "',{'message':'bye'}", "^\\{.*");
    client.eventually("getHistoryForTask(String)", "'" + step + "'", "'taskState':'TASK_KILLED'");
  }

  private void ends() throws Exception {
    Files.createFile(sign);
    client.eventually("getCoolDownSingularityRequests()", "", "'id':'cooling'.*'state':'SYSTEM_COOLDOWN'");
    client.does("exitCooldown(String,Optional)", "'cooling'," + why, "history/request/cooling/requests", "'eventType':'EXITED_COOLDOWN'");
    client.plain("POST", "disasters/disabled-actions/RUN_CLEANUP_POLLER", "{}");
    client.answers("deleteSingularityRequest(String,Optional)", "'cooling'," + why, "^\\{'id':'cooling'");
    client.answers("getCleanupSingularityRequests()", "", "'requestId':'cooling'");
    client.plain("DELETE", "disasters/disabled-actions/RUN_CLEANUP_POLLER", "");
  }

  private void logs() {
    String files = "^\\[(?:\\{'[^\\[]*'key':'logged/[^\\[]*){2}\\]$";
    client.answers("getTaskLogs(String)", "'" + logged + "'", files);
    client.answers("getRequestLogs(String)", "'logged'", files);
    client.answers("getDeployLogs(String,String)", "'logged','d1'", files);
    String hooks = "getActiveWebhook()";
    String deploys = client.answers(hooks, "", "'id':'(DEPLOY[^']*)'");
    String requests = client.answers(hooks, "", "'id':'(REQUEST[^']*)'");
    String tasks = client.answers(hooks, "", "'id':'(TASK[^']*)'");
    client.answers("getQueuedDeployUpdates(String)", "'" + deploys + "'", "'deployMarker':\\{'requestId':.*'eventType':'STARTING'");
    client.answers("getQueuedRequestUpdates(String)", "'" + requests + "'", "'eventType':'CREATED'");
    client.answers("getQueuedTaskUpdates(String)", "'" + tasks + "'", "'taskState':'TASK_RUNNING'");
    client.answers("deleteWebhook(String)", "'" + deploys + "'", "^'DELETED'$");
  }

  private void machines() {
    client.answers("getSlaves(Optional)", "'ACTIVE'", "'id':'slave1'.*'id':'slave4'");
    client.answers("getSlave(String)", "'slave1'", "'id':'slave1'.*'host':'localhost'.*'rackId':'rack1'|'host':'localhost'");
    machine("Slave", "slaves", "slave4");
    machine("Rack", "racks", "rack4");
  }

  private void machine(String kind, String path, String id) {
    String given = "'" + id + "'," + why;
    String state = "'objectId':'" + id + "','state':";
    client.does("freeze" + kind + "(String,Optional)", given, path, state + "'FROZEN'");
    client.does("activate" + kind + "(String,Optional)", given, path, state + "'ACTIVE'");
    client.does("decommission" + kind + "(String,Optional)", given, path, state + "'(?:STARTING_)?DECOMMISSION");
    client.does("activate" + kind + "(String,Optional)", given, path, state + "'ACTIVE'");
    client.does("decomission" + kind + "(String)", "'" + id + "'", path, state + "'DECOMMISSIONED'");
    // One that is forgotten and still there comes back as a new one.
    client.does("delete" + kind + "(String)", "'" + id + "'", path, state + "'ACTIVE'");
  }

  private void rest() {
    client.answers("getState(Optional,Optional)", "true,true", "'activeSlaves':\\d");
    client.eventually("getTaskReconciliationStatistics()", "", "'taskReconciliationStartedAt':\\d");
    client.does("disableAction(SingularityAction,Optional)", "'BOUNCE_REQUEST'," + why, "disasters/disabled-actions", "'type':'BOUNCE_REQUEST'");
    client.answers("getDisabledActions()", "", "'type':'BOUNCE_REQUEST','message':'Action BOUNCE_REQUEST is disabled: because'");
    client.does("enableAction(SingularityAction)", "'BOUNCE_REQUEST'", "disasters/disabled-actions", "^200 \\[\\]$");
    client.does("activateDisaster(SingularityDisasterType)", "'USER_INITIATED'", "disasters/active", "USER_INITIATED");
    client.answers("getActiveDisasters()", "", "^\\['USER_INITIATED'\\]$");
    client.does("removeDisaster(SingularityDisasterType)", "'USER_INITIATED'", "disasters/active", "^200 \\[\\]$");
    client.does("disableAutomatedDisasterCreation()", "", "disasters/stats", "'automatedActionDisabled':true");
    client.does("enableAutomatedDisasterCreation()", "", "disasters/stats", "'automatedActionDisabled':false");
    client.eventually("getDisasterStats()", "", "'stats':\\[\\{.*'numActiveTasks':\\d");
    String freeze = "'minimumPriorityLevel':0.25,.*'message':'busy'";
    client.answers("createPriorityFreeze(SingularityPriorityFreeze)", "{'minimumPriorityLevel':0.25,'killTasks':false,'message':'busy'}", freeze);
    client.answers("getActivePriorityFreeze()", "", freeze);
    client.does("deletePriorityFreeze()", "", "priority/freeze", "^404");
  }
}
