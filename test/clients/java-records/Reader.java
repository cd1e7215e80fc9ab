import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.hubspot.mesos.JavaUtils;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Reads documents as the published client does. A line of its input: a record's name, with [] for a list of them, a tab, the document. */
public final class Reader {

  public static void main(String[] arguments) throws Exception {
    ObjectMapper mapper = JavaUtils.newObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] parts = line.split("\t", 2);
      Class<?> record = Class.forName("com.hubspot.singularity." + parts[0].replace("[]", ""));
      JavaType one = mapper.constructType(record);
      JavaType type = parts[0].endsWith("[]") ? mapper.getTypeFactory().constructCollectionType(List.class, one) : one;
      String problem = "";
      try {
        if (mapper.readValue(parts[1], type) == null) problem = "reads nothing";
      } catch (Exception cause) {
        problem = cause.toString().split("\n")[0];
      }
      System.out.println(problem);
    }
  }
}
