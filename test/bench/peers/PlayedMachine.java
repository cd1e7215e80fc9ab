import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.mesos.v1.Protos.Address;
import org.apache.mesos.v1.Protos.AgentID;
import org.apache.mesos.v1.Protos.Attribute;
import org.apache.mesos.v1.Protos.FrameworkID;
import org.apache.mesos.v1.Protos.Offer;
import org.apache.mesos.v1.Protos.OfferID;
import org.apache.mesos.v1.Protos.Resource;
import org.apache.mesos.v1.Protos.URL;
import org.apache.mesos.v1.Protos.Value;

/** What is free on one machine, and what it tells of itself. */
final class PlayedMachine {
  static final int FIRST_PORT = 31_000;
  static final int PORTS = 2_000;
  private static final double CPUS = 16;
  private static final double MEMORY = 32_000;
  private static final double DISK = 200_000;

  final String id;
  final String host;
  private final String rack;
  double cpus = CPUS;
  private double memory = MEMORY;
  private double disk = DISK;
  private final BitSet takenPorts = new BitSet(PORTS);
  boolean isOffered;
  long quietUntil;

  PlayedMachine(int number) {
    id = "machine-id-" + number;
    host = "machine" + number;
    rack = "rack" + (1 + (number - 1) % 2);
  }

  void take(PlayedTask task) {
    cpus -= task.cpus;
    memory -= task.memory;
    disk -= task.disk;
    takenPorts.or(task.ports);
  }

  void giveBack(PlayedTask task) {
    cpus += task.cpus;
    memory += task.memory;
    disk += task.disk;
    takenPorts.andNot(task.ports);
  }

  Offer.Builder offer(String offerId, String framework, int port) {
    Address.Builder address = Address.newBuilder().setHostname(host).setIp("127.0.0.1").setPort(port);
    Value.Text.Builder text = Value.Text.newBuilder().setValue(rack);
    return Offer.newBuilder()
        .setId(OfferID.newBuilder().setValue(offerId))
        .setFrameworkId(FrameworkID.newBuilder().setValue(framework))
        .setAgentId(AgentID.newBuilder().setValue(id))
        .setHostname(host)
        .setUrl(URL.newBuilder().setScheme("http").setAddress(address))
        .addResources(scalar("cpus", cpus))
        .addResources(scalar("mem", memory))
        .addResources(scalar("disk", disk))
        .addResources(freePorts())
        .addAttributes(Attribute.newBuilder().setName("rackid").setType(Value.Type.TEXT).setText(text));
  }

  private static Resource.Builder scalar(String name, double value) {
    Value.Scalar.Builder amount = Value.Scalar.newBuilder().setValue(value);
    return Resource.newBuilder().setName(name).setType(Value.Type.SCALAR).setRole("*").setScalar(amount);
  }

  private Resource.Builder freePorts() {
    Value.Ranges.Builder ranges = Value.Ranges.newBuilder();
    for (int begin = takenPorts.nextClearBit(0); begin < PORTS; ) {
      int next = takenPorts.nextSetBit(begin);
      int end = next < 0 ? PORTS : next;
      ranges.addRange(Value.Range.newBuilder().setBegin(FIRST_PORT + begin).setEnd(FIRST_PORT + end - 1));
      begin = takenPorts.nextClearBit(end);
    }
    return Resource.newBuilder().setName("ports").setType(Value.Type.RANGES).setRole("*").setRanges(ranges);
  }

  static Map<String, Object> resources(double cpus, double memory, double disk) {
    String ports = "[" + FIRST_PORT + "-" + (FIRST_PORT + PORTS - 1) + "]";
    return Map.of("cpus", cpus, "mem", memory, "disk", disk, "ports", ports);
  }

  Map<String, Object> told(int port) {
    Map<String, Object> told = new HashMap<>(Map.of("id", id, "hostname", host));
    told.put("pid", "slave(1)@" + host + ":" + port);
    told.put("resources", resources(CPUS, MEMORY, DISK));
    return told;
  }

  Map<String, Object> toldByMaster(int port) {
    Map<String, Object> told = told(port);
    told.put("registered_time", 1);
    told.put("version", "1.9.0");
    told.put("active", true);
    told.put("attributes", Map.of("rackid", rack));
    told.put("unreserved_resources", resources(CPUS, MEMORY, DISK));
    told.put("used_resources", resources(CPUS - cpus, MEMORY - memory, DISK - disk));
    told.put("offered_resources", resources(0, 0, 0));
    told.put("reserved_resources", Map.of());
    return told;
  }

  Map<String, Object> metrics() {
    Map<String, Object> told = new HashMap<>();
    told.put("slave/cpus_total", CPUS);
    told.put("slave/cpus_used", CPUS - cpus);
    told.put("slave/mem_total", MEMORY);
    told.put("slave/mem_used", MEMORY - memory);
    told.put("slave/disk_total", DISK);
    told.put("slave/disk_used", DISK - disk);
    told.put("slave/uptime_secs", 1_000);
    told.put("system/cpus_total", CPUS);
    for (String span : List.of("1min", "5min", "15min")) told.put("system/load_" + span, 0.5);
    told.put("system/mem_total_bytes", MEMORY * 1_048_576);
    told.put("system/mem_free_bytes", MEMORY * 524_288);
    return told;
  }
}
