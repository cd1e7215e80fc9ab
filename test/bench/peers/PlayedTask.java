import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.mesos.v1.Protos.AgentID;
import org.apache.mesos.v1.Protos.ExecutorID;
import org.apache.mesos.v1.Protos.Resource;
import org.apache.mesos.v1.Protos.TaskID;
import org.apache.mesos.v1.Protos.TaskInfo;
import org.apache.mesos.v1.Protos.TaskState;
import org.apache.mesos.v1.Protos.TaskStatus;

/** A task that is no process, and what is told of it. */
final class PlayedTask {
  final String id;
  private final String executor;
  final PlayedMachine machine;
  final boolean endsAtOnce;
  final long startedAt = System.currentTimeMillis();
  double cpus;
  double memory;
  double disk;
  final BitSet ports = new BitSet(PlayedMachine.PORTS);
  TaskState state = TaskState.TASK_STAGING;
  boolean isKilled;

  PlayedTask(TaskInfo info, PlayedMachine machine) {
    id = info.getTaskId().getValue();
    executor = info.hasExecutor() ? info.getExecutor().getExecutorId().getValue() : id;
    endsAtOnce = info.getCommand().getValue().equals("true");
    this.machine = machine;
    take(info.getResourcesList());
    take(info.getExecutor().getResourcesList());
  }

  private void take(List<Resource> resources) {
    for (Resource resource : resources) {
      double amount = resource.getScalar().getValue();
      switch (resource.getName()) {
        case "cpus" -> cpus += amount;
        case "mem" -> memory += amount;
        case "disk" -> disk += amount;
        case "ports" -> takePorts(resource);
        default -> {}
      }
    }
  }

  private void takePorts(Resource resource) {
    for (var range : resource.getRanges().getRangeList()) {
      int begin = (int) range.getBegin() - PlayedMachine.FIRST_PORT;
      ports.set(begin, begin + 1 + (int) (range.getEnd() - range.getBegin()));
    }
  }

  TaskStatus.Builder status() {
    return TaskStatus.newBuilder()
        .setTaskId(TaskID.newBuilder().setValue(id))
        .setAgentId(AgentID.newBuilder().setValue(machine.id))
        .setExecutorId(ExecutorID.newBuilder().setValue(executor))
        .setSource(TaskStatus.Source.SOURCE_EXECUTOR)
        .setState(state)
        .setTimestamp(System.currentTimeMillis() / 1_000.0);
  }

  Map<String, Object> executor(String framework) {
    Map<String, Object> used = PlayedMachine.resources(cpus, memory, disk);
    Map<String, Object> told = new HashMap<>(Map.of("id", id, "name", id, "slave_id", machine.id));
    told.putAll(Map.of("framework_id", framework, "executor_id", executor, "state", state.name()));
    told.put("resources", used);
    Map<String, Object> all = new HashMap<>(Map.of("id", executor, "name", "Command Executor"));
    all.put("container", "container-" + Integer.toHexString(id.hashCode()));
    all.put("directory", "/tasks/" + id);
    all.put("resources", used);
    all.put("tasks", List.of(told));
    all.put("completed_tasks", List.of());
    return all;
  }

  Map<String, Object> statistics(String framework) {
    double seconds = (System.currentTimeMillis() - startedAt) / 1_000.0;
    long bytes = (long) (memory * 1_048_576);
    Map<String, Object> used = new HashMap<>();
    used.put("cpus_limit", (int) Math.ceil(cpus));
    used.put("cpus_system_time_secs", seconds * 0.05);
    used.put("cpus_user_time_secs", seconds * 0.1);
    used.put("mem_limit_bytes", bytes);
    used.put("mem_rss_bytes", bytes / 2);
    used.put("mem_total_bytes", bytes / 2);
    used.put("timestamp", System.currentTimeMillis() / 1_000.0);
    Map<String, Object> told = new HashMap<>(Map.of("executor_id", executor, "source", id, "statistics", used));
    told.putAll(Map.of("executor_name", "Command Executor", "framework_id", framework));
    return told;
  }
}
