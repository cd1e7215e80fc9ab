import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.hubspot.singularity.client.SingularityClient;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Calls the methods of the published client by their signatures, and tells what each answered in a line of JSON. */
final class Ledger {
  private final SingularityClient client;
  private final String api;
  private final PrintStream out;
  private final ObjectMapper json = new ObjectMapper();
  private final HttpClient http = HttpClient.newHttpClient();
  private final Map<String, Method> methods = new TreeMap<>();
  private final TreeSet<String> untold;

  Ledger(SingularityClient client, String api, PrintStream out) {
    this.client = client;
    this.api = api;
    this.out = out;
    for (Method method : SingularityClient.class.getDeclaredMethods()) {
      boolean isPart = Modifier.isPublic(method.getModifiers()) && !method.isSynthetic();
      if (isPart) methods.put(signatureOf(method), method);
    }
    untold = new TreeSet<>(methods.keySet());
  }

  private static String signatureOf(Method method) {
    String types = Arrays.stream(method.getParameterTypes()).map(Class::getSimpleName).collect(Collectors.joining(","));
    return method.getName() + "(" + types + ")";
  }

  /** A part of the story. What breaks it off is told, and the other parts are tried all the same. */
  void part(String name, Runnable story) {
    try {
      story.run();
    } catch (RuntimeException cause) {
      tell("the story of " + name, "fails", describe(cause));
    }
  }

  /** Versions differ in what they have. */
  boolean has(String signature) {
    return methods.containsKey(signature);
  }

  /** Calls it and says whether the answer is right. What this version of the client does not have is passed over. */
  <T> void check(String signature, Predicate<T> isRight, Object... arguments) {
    if (!has(signature)) return;
    String saw;
    boolean ok = false;
    try {
      @SuppressWarnings("unchecked")
      T answer = (T) call(signature, arguments);
      ok = isRight.test(answer);
      saw = String.valueOf(answer);
    } catch (Throwable cause) {
      saw = describe(cause);
    }
    tell(signature, ok ? "works" : "fails", saw);
  }

  /** The same for what answers only some time later. */
  <T> void eventually(String signature, Predicate<T> isRight, Object... arguments) {
    if (!has(signature)) return;
    try {
      await(signature, () -> {
        @SuppressWarnings("unchecked")
        T answer = (T) quietly(() -> call(signature, arguments));
        return answer != null && isRight.test(answer);
      });
    } catch (RuntimeException tooLate) {
      // The check below tells what the answer is in the end.
    }
    check(signature, isRight, arguments);
  }

  /** A call that the client itself cannot make work, whatever it talks to: it has to fail in just this way. */
  void fault(String signature, String why, Predicate<Throwable> isThat, Object... arguments) {
    if (!has(signature)) return;
    try {
      tell(signature, "fails", "answered in place of failing: " + call(signature, arguments));
    } catch (Throwable cause) {
      tell(signature, isThat.test(cause) ? "fault" : "fails", isThat.test(cause) ? why : describe(cause));
    }
  }

  @SuppressWarnings("unchecked")
  <T> T call(String signature, Object... arguments) {
    try {
      return (T) methods.get(signature).invoke(client, arguments);
    } catch (InvocationTargetException cause) {
      throw cause.getCause() instanceof RuntimeException ? (RuntimeException) cause.getCause() : new RuntimeException(cause.getCause());
    } catch (IllegalAccessException cause) {
      throw new IllegalStateException(cause);
    }
  }

  /** What versions have in different types: read by name, out of its Optional where it is in one. */
  static Object member(Object record, String getter) {
    try {
      Object value = record.getClass().getMethod(getter).invoke(record);
      return value instanceof Optional ? ((Optional<?>) value).get() : value;
    } catch (ReflectiveOperationException cause) {
      throw new IllegalStateException(cause);
    }
  }

  /** What only some versions have. */
  static void setIfThere(Object builder, String setter, Optional<?> value) {
    try {
      builder.getClass().getMethod(setter, Optional.class).invoke(builder, value);
    } catch (NoSuchMethodException notInThisVersion) {
      // Then nothing is asked about it.
    } catch (ReflectiveOperationException cause) {
      throw new IllegalStateException(cause);
    }
  }

  /** What the service says to a plain GET, for what no method of the client reads. */
  JsonNode read(String path) {
    try {
      HttpRequest request = HttpRequest.newBuilder(URI.create(api + "/" + path)).build();
      HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
      return response.statusCode() == 200 ? json.readTree(response.body()) : MissingNode.getInstance();
    } catch (Exception cause) {
      throw new IllegalStateException(cause);
    }
  }

  void await(String what, BooleanSupplier holds) {
    long until = System.currentTimeMillis() + 30_000;
    while (!Boolean.TRUE.equals(quietly(holds::getAsBoolean))) {
      if (System.currentTimeMillis() > until) throw new IllegalStateException("Not seen within 30 s: " + what);
      try {
        Thread.sleep(50);
      } catch (InterruptedException cause) {
        throw new IllegalStateException(cause);
      }
    }
  }

  private static <T> T quietly(Supplier<T> supplier) {
    try {
      return supplier.get();
    } catch (RuntimeException notYet) {
      return null;
    }
  }

  /** Says which methods nothing has called: a client may have more than this driver knows. */
  void close() {
    for (String signature : untold.toArray(new String[0])) tell(signature, "not called", "");
  }

  private void tell(String signature, String outcome, String saw) {
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
    StackTraceElement[] stack = cause.getStackTrace();
    Arrays.stream(stack).filter(at -> at.getClassName().matches("Driver|Machines|Requests|Tasks|Rest")).findFirst().ifPresent(text::append);
    return text.toString();
  }
}
