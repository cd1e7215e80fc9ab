import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.inject.AbstractModule;
import com.google.inject.Guice;
import com.hubspot.mesos.JavaUtils;
import com.hubspot.singularity.client.SingularityClient;
import com.hubspot.singularity.client.SingularityClientModule;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * java Driver HOST:PORT CONTEXT LOGGED SIGN: every public method of the published client of the time before java.util.Optional.
 * Arguments and answers are JSON, read and written by the mapper of the client itself, so that no type of it is named here. In all
 * JSON below ' stands for ".
 */
public final class Driver {
  private final SingularityClient client;
  private final String api;
  private final PrintStream out;
  private final ObjectMapper json = JavaUtils.newObjectMapper();
  private final HttpClient http = HttpClient.newHttpClient();
  private final Map<String, Method> methods = new TreeMap<>();
  private final TreeSet<String> untold;

  private Driver(SingularityClient client, String api, PrintStream out) {
    this.client = client;
    this.api = api;
    this.out = out;
    for (Method method : SingularityClient.class.getDeclaredMethods()) {
      if (Modifier.isPublic(method.getModifiers()) && !method.isSynthetic()) methods.put(signatureOf(method), method);
    }
    untold = new TreeSet<>(methods.keySet());
  }

  public static void main(String[] arguments) {
    PrintStream out = System.out;
    // What libraries print must not be taken for a result.
    System.setOut(System.err);
    String host = arguments[0];
    String context = arguments[1];
    AbstractModule below = new AbstractModule() {
      @Override
      protected void configure() {
        SingularityClientModule.bindContextPath(binder()).toInstance(context);
      }
    };
    SingularityClientModule module = new SingularityClientModule(Collections.singletonList(host));
    SingularityClient client = Guice.createInjector(module, below).getInstance(SingularityClient.class);
    Driver driver = new Driver(client, "http://" + host + "/" + context + "/", out);
    new Story(driver, arguments[2], arguments[3]).tell();
    // Methods that nothing has called: the client may have more than the story knows.
    for (String signature : driver.untold.toArray(new String[0])) driver.line(signature, "not called", "");
    out.flush();
    // The HTTP client of the library keeps threads.
    System.exit(0);
  }

  private static String signatureOf(Method method) {
    String types = Arrays.stream(method.getParameterTypes()).map(Class::getSimpleName).collect(Collectors.joining(","));
    return method.getName() + "(" + types + ")";
  }

  /** Its answer, as JSON, has to match; answers the first group of the match. */
  String answers(String signature, String arguments, String wanted) {
    return judge(signature, wanted, () -> call(signature, arguments), false);
  }

  /** The same for a read that may need its time. */
  String eventually(String signature, String arguments, String wanted) {
    return judge(signature, wanted, () -> call(signature, arguments), true);
  }

  /** It answers nothing: what a plain GET says afterwards has to match. */
  void does(String signature, String arguments, String path, String wanted) {
    try {
      call(signature, arguments);
    } catch (Exception cause) {
      line(signature, "fails", describe(cause));
      return;
    }
    judge(signature, wanted, () -> plain("GET", path, ""), true);
  }

  /** The client cannot make it work, whatever it talks to: it has to fail in just this way. */
  void fault(String signature, String arguments, String why, Predicate<String> isThat) {
    try {
      line(signature, "fails", "answered in place of failing: " + call(signature, arguments));
    } catch (Exception cause) {
      String saw = describe(cause);
      line(signature, isThat.test(saw) ? "fault" : "fails", isThat.test(saw) ? why : saw);
    }
  }

  /** Sets the scene. */
  String plain(String verb, String path, String body) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(api + path))
      .header("Content-Type", "application/json")
      .method(verb, verb.equals("GET") ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(quoted(body)))
      .build();
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    return response.statusCode() + " " + response.body();
  }

  private interface Source {
    String read() throws Exception;
  }

  private String judge(String signature, String wanted, Source source, boolean waits) {
    long until = System.currentTimeMillis() + (waits ? 30_000 : 0);
    Pattern pattern = Pattern.compile(quoted(wanted), Pattern.DOTALL);
    for (;;) {
      String saw;
      try {
        saw = source.read();
        Matcher found = pattern.matcher(saw);
        if (found.find()) {
          line(signature, "works", saw);
          return found.groupCount() > 0 ? found.group(1) : "";
        }
      } catch (Exception cause) {
        saw = describe(cause);
      }
      if (System.currentTimeMillis() >= until) {
        line(signature, "fails", pattern + " is not in " + saw);
        return "";
      }
      try {
        Thread.sleep(50);
      } catch (InterruptedException cause) {
        throw new IllegalStateException(cause);
      }
    }
  }

  private String call(String signature, String arguments) throws Exception {
    Method method = methods.get(signature);
    if (method == null) throw new IllegalArgumentException("The client has no " + signature);
    JsonNode given = json.readTree("[" + quoted(arguments) + "]");
    Type[] types = method.getGenericParameterTypes();
    Object[] in = new Object[types.length];
    for (int index = 0; index < types.length; index++) {
      JavaType type = json.getTypeFactory().constructType(types[index]);
      in[index] = json.readerFor(type).readValue(given.get(index));
    }
    try {
      return json.writeValueAsString(method.invoke(client, in));
    } catch (InvocationTargetException cause) {
      throw cause.getCause() instanceof Exception ? (Exception) cause.getCause() : cause;
    }
  }

  private static String quoted(String text) {
    return text.replace('\'', '"');
  }

  private void line(String signature, String outcome, String saw) {
    untold.remove(signature);
    Map<String, String> line = new LinkedHashMap<>();
    line.put("method", signature);
    line.put("outcome", outcome);
    line.put("saw", saw.length() > 600 ? saw.substring(0, 600) : saw);
    try {
      out.println(json.writeValueAsString(line));
    } catch (Exception cause) {
      throw new IllegalStateException(cause);
    }
  }

  private static String describe(Throwable cause) {
    StringBuilder text = new StringBuilder();
    for (Throwable each = cause; each != null; each = each.getCause()) text.append(each).append("; ");
    return text.toString();
  }
}
