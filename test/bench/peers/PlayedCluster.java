import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.mesos.v1.Protos.FrameworkID;
import org.apache.mesos.v1.Protos.MasterInfo;
import org.apache.mesos.v1.Protos.Offer;
import org.apache.mesos.v1.Protos.OfferID;
import org.apache.mesos.v1.Protos.TaskInfo;
import org.apache.mesos.v1.Protos.TaskState;
import org.apache.mesos.v1.Protos.TaskStatus;
import org.apache.mesos.v1.scheduler.Protos.Call;
import org.apache.mesos.v1.scheduler.Protos.Event;

/**
 * Plays the cluster manager and all its machines to the original: offers what is free, takes launches and kills, and reports what
 * becomes of tasks, which are no processes. A task whose command is `true` ends at once. Another program asks it by HTTP what it saw,
 * as it does played-machines.mjs.
 *
 * <p>Arguments: the address of the machines, and how many there are.
 */
public final class PlayedCluster {
  private static final int MACHINE_PORT = 5051;
  private static final int OFFER_EVERY_MILLIS = 500;
  /** How long a machine whose offer was declined is not offered again. */
  private static final int DECLINED_MILLIS = 1_500;
  /** As agents do with what is not acknowledged. */
  private static final int AGAIN_AFTER_MILLIS = 10_000;

  private static final ObjectMapper JSON = new ObjectMapper();

  private record Held(PlayedTask task, TaskState state) {}

  private record Sent(TaskStatus status, long at, boolean isAgain) {}

  private final Map<String, PlayedMachine> machines = new LinkedHashMap<>();
  private final Map<String, PlayedTask> tasks = new LinkedHashMap<>();
  private final Map<String, PlayedMachine> offers = new HashMap<>();
  private final Map<ByteString, Sent> unacknowledged = new LinkedHashMap<>();
  private String framework = "Singularity";
  private int port;
  private OutputStream events;
  private long lastOffer;

  /** What was seen since it was cleared. */
  private List<Long> launchTimes = new ArrayList<>();

  private int kills;
  private int reported;
  private int acknowledged;
  /** Of the last one that had to be sent only once. */
  private long acknowledgedAt;
  private List<Held> held;

  public static void main(String[] arguments) throws IOException {
    new PlayedCluster(Integer.parseInt(arguments[1])).start(arguments[0]);
  }

  private PlayedCluster(int count) {
    for (int number = 1; number <= count; number++) {
      PlayedMachine machine = new PlayedMachine(number);
      machines.put(machine.host, machine);
    }
  }

  private void start(String machinesAddress) throws IOException {
    HttpServer master = serve("127.0.0.1", 0);
    port = master.getAddress().getPort();
    master.createContext("/api/v1/scheduler", this::called);
    answer(master, "/master/state", x -> masterState());
    answer(master, "/metrics/snapshot", x -> Map.of("master/event_queue_messages", 0));

    HttpServer each = serve(machinesAddress, MACHINE_PORT);
    answer(each, "/slave(1)/state", x -> machineState(machineOf(x)));
    answer(each, "/monitor/statistics", x -> statistics(machineOf(x)));
    answer(each, "/metrics/snapshot", x -> machineOf(x).metrics());

    HttpServer control = serve("127.0.0.1", 0);
    answer(control, "/figures", x -> figures());
    answer(control, "/launches", x -> List.copyOf(launchTimes));
    answer(control, "/clear", x -> clear());
    answer(control, "/hold", x -> hold());
    answer(control, "/release", x -> release());
    answer(control, "/end", x -> end(Integer.parseInt(x.getRequestURI().getQuery().split("=")[1])));

    ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
    timer.scheduleAtFixedRate(this::offer, OFFER_EVERY_MILLIS, OFFER_EVERY_MILLIS, TimeUnit.MILLISECONDS);
    timer.scheduleAtFixedRate(this::beat, 5, 15, TimeUnit.SECONDS);
    timer.scheduleAtFixedRate(this::sendAgain, 1, 1, TimeUnit.SECONDS);
    System.out.printf(
        "{\"master\":%d,\"control\":%d}%n", port, control.getAddress().getPort());
  }

  /** By which the service finds it. */
  private String pid() {
    return "master@127.0.0.1:" + port;
  }

  private static HttpServer serve(String host, int port) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress(host, port), 500);
    server.setExecutor(Executors.newCachedThreadPool());
    server.start();
    return server;
  }

  private interface Answer {
    Object to(HttpExchange exchange);
  }

  /** What it is about is read while nothing else changes it. */
  private void answer(HttpServer server, String path, Answer answer) {
    server.createContext(
        path,
        exchange -> {
          byte[] body;
          synchronized (this) {
            body = JSON.writeValueAsBytes(answer.to(exchange));
          }
          exchange.getResponseHeaders().add("Content-Type", "application/json");
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
  }

  // The calls of the service.

  private void called(HttpExchange exchange) throws IOException {
    Call call = Call.parseFrom(exchange.getRequestBody().readAllBytes());
    if (call.getType() == Call.Type.SUBSCRIBE) {
      subscribe(call, exchange);
      return;
    }
    exchange.sendResponseHeaders(202, -1);
    exchange.close();
    synchronized (this) {
      switch (call.getType()) {
        case ACCEPT -> accept(call.getAccept());
        case DECLINE -> decline(call.getDecline());
        case KILL -> kill(call.getKill().getTaskId().getValue());
        case ACKNOWLEDGE -> {
          Sent sent = unacknowledged.remove(call.getAcknowledge().getUuid());
          if (sent == null) return;
          acknowledged++;
          if (!sent.isAgain) acknowledgedAt = System.currentTimeMillis();
        }
        case RECONCILE -> reconcile(call.getReconcile());
        default -> {}
      }
    }
  }

  private synchronized void subscribe(Call call, HttpExchange exchange) throws IOException {
    if (!call.getFrameworkId().getValue().isEmpty()) framework = call.getFrameworkId().getValue();
    offers.clear();
    machines.values().forEach(machine -> machine.isOffered = false);
    exchange.getResponseHeaders().add("Content-Type", "application/x-protobuf");
    exchange.getResponseHeaders().add("Mesos-Stream-Id", UUID.randomUUID().toString());
    exchange.sendResponseHeaders(200, 0);
    events = exchange.getResponseBody();
    MasterInfo.Builder master = MasterInfo.newBuilder().setId("played").setIp(0x0100007F).setPort(port);
    Event.Subscribed.Builder subscribed =
        Event.Subscribed.newBuilder()
            .setFrameworkId(FrameworkID.newBuilder().setValue(framework))
            .setHeartbeatIntervalSeconds(15)
            .setMasterInfo(master.setHostname("localhost").setVersion("1.9.0").setPid(pid()));
    send(Event.newBuilder().setType(Event.Type.SUBSCRIBED).setSubscribed(subscribed));
  }

  private void accept(Call.Accept accept) {
    PlayedMachine machine = null;
    for (OfferID id : accept.getOfferIdsList()) {
      PlayedMachine offered = offers.remove(id.getValue());
      if (offered == null) continue;
      offered.isOffered = false;
      machine = offered;
    }
    // Withdrawn by a new subscription.
    if (machine == null) return;
    for (Offer.Operation operation : accept.getOperationsList()) {
      for (TaskInfo info : operation.getLaunch().getTaskInfosList()) launch(new PlayedTask(info, machine));
    }
  }

  private void launch(PlayedTask task) {
    task.machine.take(task);
    tasks.put(task.id, task);
    launchTimes.add(task.startedAt);
    report(task, TaskState.TASK_STARTING);
    report(task, TaskState.TASK_RUNNING);
  }

  private void decline(Call.Decline decline) {
    for (OfferID id : decline.getOfferIdsList()) {
      PlayedMachine machine = offers.remove(id.getValue());
      if (machine == null) continue;
      machine.isOffered = false;
      machine.quietUntil = System.currentTimeMillis() + DECLINED_MILLIS;
    }
  }

  private void kill(String taskId) {
    PlayedTask task = tasks.get(taskId);
    if (task == null || task.isKilled) return;
    task.isKilled = true;
    kills++;
    report(task, TaskState.TASK_KILLED);
  }

  private void reconcile(Call.Reconcile reconcile) {
    List<String> asked = reconcile.getTasksList().stream().map(each -> each.getTaskId().getValue()).toList();
    for (PlayedTask task : tasks.values()) {
      if (asked.isEmpty() || asked.contains(task.id))
        sendStatus(task.status().setReason(TaskStatus.Reason.REASON_RECONCILIATION));
    }
  }

  // What the service is told.

  private synchronized void offer() {
    if (events == null) return;
    long now = System.currentTimeMillis();
    Event.Offers.Builder found = Event.Offers.newBuilder();
    for (PlayedMachine machine : machines.values()) {
      if (machine.isOffered || machine.quietUntil > now || machine.cpus < 0.001) continue;
      String id = "offer-" + ++lastOffer;
      machine.isOffered = true;
      offers.put(id, machine);
      found.addOffers(machine.offer(id, framework, MACHINE_PORT));
    }
    if (found.getOffersCount() > 0) send(Event.newBuilder().setType(Event.Type.OFFERS).setOffers(found));
  }

  private synchronized void beat() {
    send(Event.newBuilder().setType(Event.Type.HEARTBEAT));
  }

  private void report(PlayedTask task, TaskState state) {
    if (held != null) {
      held.add(new Held(task, state));
      return;
    }
    task.state = state;
    reported++;
    UUID id = UUID.randomUUID();
    ByteBuffer bytes = ByteBuffer.allocate(16).putLong(id.getMostSignificantBits());
    ByteString uuid = ByteString.copyFrom(bytes.putLong(id.getLeastSignificantBits()).array());
    TaskStatus status = task.status().setUuid(uuid).build();
    unacknowledged.put(uuid, new Sent(status, System.currentTimeMillis(), false));
    sendStatus(status.toBuilder());
    boolean isEnd = state != TaskState.TASK_STARTING && state != TaskState.TASK_RUNNING;
    if (isEnd && tasks.remove(task.id) != null) task.machine.giveBack(task);
    if (state == TaskState.TASK_RUNNING && task.endsAtOnce) report(task, TaskState.TASK_FINISHED);
  }

  /** The service now and then forgets to acknowledge one. */
  private synchronized void sendAgain() {
    long now = System.currentTimeMillis();
    for (Map.Entry<ByteString, Sent> entry : unacknowledged.entrySet()) {
      Sent sent = entry.getValue();
      if (sent.at > now - AGAIN_AFTER_MILLIS) continue;
      entry.setValue(new Sent(sent.status, now, true));
      sendStatus(sent.status.toBuilder());
    }
  }

  private void sendStatus(TaskStatus.Builder status) {
    send(Event.newBuilder().setType(Event.Type.UPDATE).setUpdate(Event.Update.newBuilder().setStatus(status)));
  }

  /** Each with its length in front. */
  private void send(Event.Builder event) {
    if (events == null) return;
    byte[] bytes = event.build().toByteArray();
    try {
      events.write((bytes.length + "\n").getBytes(StandardCharsets.US_ASCII));
      events.write(bytes);
      events.flush();
    } catch (IOException gone) {
      events = null;
    }
  }

  // What the service asks about machines.

  private PlayedMachine machineOf(HttpExchange exchange) {
    return machines.get(exchange.getRequestHeaders().getFirst("Host").replaceFirst(":.*", ""));
  }

  private Object masterState() {
    Map<String, Object> none = PlayedMachine.resources(0, 0, 0);
    List<Object> all = new ArrayList<>();
    for (PlayedMachine machine : machines.values()) all.add(machine.toldByMaster(MACHINE_PORT));
    Map<String, Object> ours = new HashMap<>(Map.of("name", "Singularity", "id", framework, "active", true));
    for (String name : List.of("resources", "used_resources", "offered_resources")) ours.put(name, none);
    ours.put("tasks", List.of());
    Map<String, Object> state = new HashMap<>(Map.of("version", "1.9.0", "id", "played", "hostname", "localhost"));
    state.put("pid", pid());
    state.put("leader", pid());
    state.put("activated_slaves", machines.size());
    state.put("deactivated_slaves", 0);
    state.put("start_time", 1.0);
    state.put("elected_time", 1.0);
    state.put("flags", Map.of());
    state.put("slaves", all);
    state.put("frameworks", List.of(ours));
    return state;
  }

  private List<PlayedTask> tasksOn(PlayedMachine machine) {
    return tasks.values().stream().filter(task -> task.machine == machine).toList();
  }

  private Object machineState(PlayedMachine machine) {
    List<Object> executors = new ArrayList<>();
    for (PlayedTask task : tasksOn(machine)) executors.add(task.executor(framework));
    Map<String, Object> ours = Map.of("id", framework, "executors", executors, "completed_executors", List.of());
    Map<String, Object> state = machine.told(MACHINE_PORT);
    state.put("start_time", 1);
    for (String kind : List.of("finished", "lost", "started", "failed", "killed", "staged"))
      state.put(kind + "_tasks", 0);
    state.put("frameworks", List.of(ours));
    return state;
  }

  private Object statistics(PlayedMachine machine) {
    return tasksOn(machine).stream().map(task -> task.statistics(framework)).toList();
  }

  // What is asked by who measures.

  private Object figures() {
    Map<String, Object> told = new HashMap<>(Map.of("tasks", tasks.size(), "launches", launchTimes.size()));
    told.putAll(Map.of("kills", kills, "reported", reported, "acknowledged", acknowledged));
    told.put("acknowledgedAt", acknowledgedAt);
    return told;
  }

  private Object clear() {
    launchTimes = new ArrayList<>();
    kills = 0;
    reported = 0;
    acknowledged = 0;
    acknowledgedAt = 0;
    return true;
  }

  private Object hold() {
    if (held == null) held = new ArrayList<>();
    return true;
  }

  private Object release() {
    long now = System.currentTimeMillis();
    List<Held> waiting = held == null ? List.of() : held;
    held = null;
    for (Held each : waiting) report(each.task, each.state);
    return now;
  }

  private Object end(int upTo) {
    for (PlayedTask task : List.copyOf(tasks.values())) {
      // An id ends with the number of the instance, the host and the rack.
      String[] words = task.id.split("-");
      if (Integer.parseInt(words[words.length - 3]) <= upTo) report(task, TaskState.TASK_FINISHED);
    }
    return true;
  }
}
