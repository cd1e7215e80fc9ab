// Streams both ways, one element at a time; the reader sets the pace.
import { z } from 'zod';
import {
  body,
  byteStream,
  connect,
  contract,
  get,
  HttpErrorException,
  jsonArray,
  ndjson,
  post,
  serve,
} from 'rest-contract';

const Line = z.object({ no: z.int(), text: z.string() });
const LogApi = contract('LogApi', {
  follow: get({ from: z.int() }, ndjson(Line)),
  all: get({}, jsonArray(Line)),
  download: get({}, byteStream('text/plain')),
  count: post({ lines: body(ndjson(Line)) }, z.int()),
});

let produced = 0;
async function* lines(from: number) {
  for (let no = from; ; no += 1) {
    produced += 1;
    yield { no, text: `line ${no}` };
  }
}
async function* first(count: number) {
  for await (const line of lines(1)) {
    if (line.no > count) return;
    yield line;
  }
}
const logs = connect(
  LogApi,
  serve(LogApi, {
    follow: ({ from }) => lines(from),
    all: () => first(2),
    async *download() {
      for await (const { text } of first(2)) yield new TextEncoder().encode(`${text}\n`);
    },
    count: async ({ lines: given }) => {
      let count = 0;
      for await (const _line of given) count += 1;
      return count;
    },
  }),
);

for await (const line of await logs.follow({ from: 7 })) {
  console.log(line);
  if (line.no === 8) break;
}
console.log(`${produced} were made`);
console.log(await logs.count({ lines: first(5) }));
for await (const chunk of await logs.download()) console.log(new TextDecoder().decode(chunk).trim());

// The answer begins with the first line: what fails before it has a status.
const refusing = connect(
  LogApi,
  serve(LogApi, {
    async *follow({ from }) {
      if (from < 1) throw new HttpErrorException(422, 'Lines are counted from 1');
      yield* lines(from);
    },
    all: () => first(2),
    download: async function* () {},
    count: async () => 0,
  }),
);
await refusing.follow({ from: 0 }).catch(({ status, message }: HttpErrorException) => console.log(status, message));

// prints:
// { no: 7, text: 'line 7' }
// { no: 8, text: 'line 8' }
// 2 were made
// 5
// line 1
// line 2
// 422 Lines are counted from 1
