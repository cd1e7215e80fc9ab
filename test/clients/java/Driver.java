import com.google.inject.AbstractModule;
import com.google.inject.Guice;
import com.hubspot.singularity.client.SingularityClient;
import com.hubspot.singularity.client.SingularityClientModule;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Collections;

/** java Driver HOST:PORT CONTEXT LOGGED SIGN: every public method of the published client, as its users have it made. */
public final class Driver {

  public static void main(String[] arguments) {
    PrintStream out = System.out;
    // What libraries print must not be taken for a result.
    System.setOut(System.err);
    String host = arguments[0];
    String context = arguments[1];
    SingularityClient client = Guice
      .createInjector(
        new SingularityClientModule(Collections.singletonList(host)),
        new AbstractModule() {
          @Override
          protected void configure() {
            SingularityClientModule.bindContextPath(binder()).toInstance(context);
          }
        }
      )
      .getInstance(SingularityClient.class);
    Ledger ledger = new Ledger(client, "http://" + host + "/" + context, out);
    ledger.part("machines", () -> Machines.drive(ledger));
    new Requests(ledger, Path.of(arguments[3])).drive();
    ledger.part("tasks", () -> new Tasks(ledger, arguments[2]).drive());
    ledger.part("the rest", () -> Rest.drive(ledger));
    ledger.close();
    out.flush();
    // The HTTP client of the library keeps threads.
    System.exit(0);
  }
}
