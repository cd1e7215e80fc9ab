// Where arguments travel: path, query, header, cookie, body fields, forms, whole bodies, groups.
import { z } from 'zod';
import {
  body,
  bytes,
  connect,
  contract,
  cookie,
  field,
  get,
  group,
  header,
  path,
  post,
  put,
  query,
  type RestRequest,
  unit,
} from 'rest-contract';

const ShopApi = contract('ShopApi', {
  order: post(
    {
      shop: path(z.string(), 'orders'),
      dryRun: query(z.boolean(), 'dry-run').whenAbsent(false),
      language: header('Accept-Language', z.string()),
      session: cookie(z.string()),
      item: z.string(),
      count: field(z.int()).optional(1).transientDefault(),
      address: group({ street: z.string(), city: z.string() }),
    },
    unit,
    { path: 'shops' },
  ),
  search: get({ text: z.string(), tags: z.array(z.string()).optional() }, unit),
  login: post({ user: z.string(), remember: z.boolean() }, unit, { form: true }),
  photo: put({ item: path(z.string()), photo: body(bytes('image/png')) }, unit),
});

// A backend is a function from request to response; this one only shows what it is asked.
const shop = connect(
  ShopApi,
  async ({ method, path: segments, query: entries, headers, cookies, body: content }: RestRequest) => {
    console.log(
      method,
      `/${segments.join('/')}`,
      entries,
      headers,
      cookies,
      content.kind === 'text' ? content.content : content.kind,
    );
    return { status: 204, headers: [], body: { kind: 'empty' } };
  },
);

await shop.order({
  shop: 's1',
  dryRun: true,
  language: 'en',
  session: 'abc',
  item: 'tea',
  address: { street: 'Main St', city: 'X' },
});
await shop.search({ text: 'green tea', tags: ['a', 'b'] });
await shop.login({ user: 'ada & co', remember: true });
await shop.photo({ item: 'a/b', photo: Uint8Array.of(1, 2, 3) });

// prints:
// POST /shops/s1/orders [ [ 'dry-run', 'true' ] ] [ [ 'Accept-Language', 'en' ] ] [ [ 'session', 'abc' ] ] {"item":"tea","street":"Main St","city":"X"}
// GET /search [ [ 'text', 'green tea' ], [ 'tags', 'a' ], [ 'tags', 'b' ] ] [] [] empty
// POST /login [] [] [] user=ada+%26+co&remember=true
// PUT /photo/a/b [] [] [] bytes
