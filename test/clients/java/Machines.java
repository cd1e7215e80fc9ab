import static java.util.Optional.empty;
import static java.util.Optional.of;

import com.fasterxml.jackson.databind.JsonNode;
import com.hubspot.singularity.MachineState;
import com.hubspot.singularity.SingularityAgent;
import com.hubspot.singularity.SingularitySlave;
import com.hubspot.singularity.api.SingularityMachineChangeRequest;
import java.util.Collection;
import java.util.Optional;
import java.util.function.Predicate;

/** Machines and racks, while nothing runs on them: slave3 and slave4 are changed, and rack2. */
final class Machines {

  static void drive(Ledger ledger) {
    ledger.await("four machines", () -> ledger.read("slaves").size() == 4);
    Predicate<Collection<SingularityAgent>> four = all -> all.size() == 4 && all.stream().anyMatch(Machines::isFirst);
    ledger.check("getAgents(Optional)", four, of(MachineState.ACTIVE));
    Predicate<Collection<SingularitySlave>> none = Collection::isEmpty;
    ledger.check("getSlaves(Optional)", none, of(MachineState.FROZEN));
    ledger.check("getAgent(String)", (Optional<SingularityAgent> agent) -> isFirst(agent.get()), "slave1");
    ledger.check("getSlave(String)", (Optional<SingularitySlave> slave) -> isFirst(slave.get()), "slave1");

    Optional<SingularityMachineChangeRequest> said = of(new SingularityMachineChangeRequest(of("a new disk")));
    for (String name : new String[] { "Agent:slave3", "Slave:slave4" }) {
      String id = name.split(":")[1];
      String kind = name.split(":")[0];
      ledger.check("freeze" + kind + "(String,Optional)", none(() -> is(ledger, id, MachineState.FROZEN, "a new disk")), id, said);
      ledger.check("activate" + kind + "(String,Optional)", none(() -> is(ledger, id, MachineState.ACTIVE, "a new disk")), id, said);
    }
    decommissions(ledger, said);
    racks(ledger, said);
    inactiveHosts(ledger);
  }

  private static void decommissions(Ledger ledger, Optional<SingularityMachineChangeRequest> said) {
    SingularityMachineChangeRequest forLong = lapse(600_000, "too old");
    ledger.check("decommissionAgent(String,Optional)", none(() -> leaves(ledger, "slave3", "too old")), "slave3", of(forLong));
    ledger.check(
      "updateDecommissionedAgent(String,Optional)",
      none(() -> ledger.read("agents/expiring").toString().contains("\"durationMillis\":700000")),
      "slave3",
      of(lapse(700_000, "still too old"))
    );
    ledger.check("decommissionSlave(String,Optional)", none(() -> leaves(ledger, "slave4", "a new disk")), "slave4", said);
    forgets(ledger, "deleteAgent(String)", "slave3");
    forgets(ledger, "deleteSlave(String)", "slave4");
    ledger.check("decomissionSlave(String)", none(() -> leaves(ledger, "slave4", "")), "slave4");
    ledger.call("activateAgent(String,Optional)", "slave4", empty());
  }

  /** A machine that is forgotten and still there comes back as a new one. */
  private static void forgets(Ledger ledger, String signature, String id) {
    long before = agent(ledger, id).getFirstSeenAt();
    ledger.check(
      signature,
      none(() -> {
        ledger.await(id + " to be new", () -> agent(ledger, id).getFirstSeenAt() > before);
        return agent(ledger, id).getCurrentState().getState() == MachineState.ACTIVE;
      }),
      id
    );
  }

  /** No method of the client reads racks. */
  private static void racks(Ledger ledger, Optional<SingularityMachineChangeRequest> said) {
    ledger.check("freezeRack(String,Optional)", none(() -> rack(ledger).equals("FROZEN")), "rack2", said);
    ledger.check("activateRack(String,Optional)", none(() -> rack(ledger).equals("ACTIVE")), "rack2", said);
    ledger.check("decommissionRack(String,Optional)", none(() -> rack(ledger).contains("DECOMMISSION")), "rack2", said);
    ledger.call("activateRack(String,Optional)", "rack2", empty());
    ledger.check("decomissionRack(String)", none(() -> rack(ledger).contains("DECOMMISSION")), "rack2");
    ledger.await("rack2 to be empty", () -> rack(ledger).equals("DECOMMISSIONED"));
    ledger.check(
      "deleteRack(String)",
      none(() -> {
        ledger.await("rack2 to be new", () -> rack(ledger).equals("ACTIVE"));
        return true;
      }),
      "rack2"
    );
    if (!agent(ledger, "slave2").getCurrentState().getState().equals(MachineState.ACTIVE))
      ledger.call("activateAgent(String,Optional)", "slave2", empty());
  }

  private static void inactiveHosts(Ledger ledger) {
    ledger.check("markAgentAsInactive(String)", none(() -> ledger.read("inactive").toString().contains("far.example")), "far.example");
    ledger.check("markSlaveAsInactive(String)", none(() -> ledger.read("inactive").toString().contains("off.example")), "off.example");
    Predicate<Collection<String>> both = hosts -> hosts.contains("far.example") && hosts.contains("off.example");
    ledger.check("getInactiveAgents()", both);
    ledger.check("getInactiveSlaves()", both);
    // Nothing listens there, so the call cannot have been for the service.
    String why = "asks the inactive host itself in place of the service: a parameter hides the variable of the same name";
    Predicate<Throwable> notReached = cause -> has(cause, "ConnectException") || has(cause, "UnknownHost");
    ledger.fault("clearInactiveAgent(String)", why, notReached, "127.0.0.1:9");
    ledger.fault("clearInactiveSlave(String)", why, notReached, "127.0.0.1:9");
  }

  private static SingularityMachineChangeRequest lapse(long millis, String message) {
    return new SingularityMachineChangeRequest(of(millis), empty(), of(message), of(MachineState.ACTIVE), of(false));
  }

  private static boolean isFirst(SingularityAgent agent) {
    return agent.getId().equals("slave1") && agent.getHost().equals("localhost") && agent.getRackId().equals("rack1") && agent.getResources().isPresent();
  }

  private static SingularityAgent agent(Ledger ledger, String id) {
    return ledger.<Optional<SingularityAgent>>call("getAgent(String)", id).get();
  }

  private static boolean is(Ledger ledger, String id, MachineState state, String message) {
    var now = agent(ledger, id).getCurrentState();
    return now.getState() == state && now.getMessage().orElse("").equals(message);
  }

  private static boolean leaves(Ledger ledger, String id, String message) {
    ledger.await(id + " to be decommissioned", () -> agent(ledger, id).getCurrentState().getState() == MachineState.DECOMMISSIONED);
    return message.isEmpty() || ledger.read("agents/agent/" + id).toString().contains(message);
  }

  private static String rack(Ledger ledger) {
    for (JsonNode rack : ledger.read("racks")) if (rack.get("id").asText().equals("rack2")) return rack.get("currentState").get("state").asText();
    return "none";
  }

  private static boolean has(Throwable cause, String text) {
    for (Throwable each = cause; each != null; each = each.getCause()) if (each.toString().contains(text)) return true;
    return false;
  }

  /** For methods that answer nothing: what then holds. */
  static Predicate<Object> none(java.util.function.BooleanSupplier holds) {
    return nothing -> holds.getAsBoolean();
  }
}
