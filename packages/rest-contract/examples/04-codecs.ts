// Types that JSON does not have: a codec on the parameter, in the contract's set, on the schema, or zod's own codecs.
import { z } from 'zod';
import { codec, codecFor, connect, contract, field, get, path, post, serve, withCodec } from 'rest-contract';
import { zodCodecs } from 'rest-contract/zod';

class Money {
  constructor(readonly cents: number) {}
}
const money = codec('json', {
  encode: (value: Money) => (value.cents / 100).toFixed(2),
  decode: (json) => new Money(Math.round(Number(json) * 100)),
  schema: { type: 'string', example: '12.50' },
});
const isoDay = codec('text', {
  encode: (day: Date) => day.toISOString().slice(0, 10),
  decode: (text) => new Date(text),
  schema: { type: 'string', format: 'date' },
});
const Stock = z.map(z.string(), z.int());
const stock = codec('json', {
  encode: (value: Map<string, number>) => Object.fromEntries(value),
  decode: (json) => new Map(Object.entries(json as Record<string, number>)),
});

const ShopApi = contract(
  'ShopApi',
  {
    pay: post({ day: path(isoDay), amount: money }, money),
    stock: get({}, Stock),
    restock: post({ add: field(Stock) }, withCodec(Stock, stock)),
  },
  { codecs: [codecFor(Stock, stock)] },
);
const shop = connect(
  ShopApi,
  serve(ShopApi, {
    pay: async ({ day, amount }) => new Money(amount.cents + day.getUTCDate()),
    stock: async () => new Map([['tea', 3]]),
    restock: async ({ add }) => add,
  }),
);
console.log(await shop.pay({ day: new Date('2024-02-05'), amount: new Money(1_000) }));
console.log(await shop.stock(), await shop.restock({ add: new Map([['ink', 1]]) }));

// With zod's two-way schemas, values are what the schema puts out, on both sides.
const Url = z.codec(z.url(), z.instanceof(URL), { decode: (text) => new URL(text), encode: (url) => url.href });
const LinkApi = contract('LinkApi', { host: post({ link: Url }, z.string()) }, { codecs: zodCodecs });
const links = connect(LinkApi, serve(LinkApi, { host: async ({ link }) => link.host }));
console.log(await links.host({ link: new URL('https://example.org/x') }));

// prints:
// Money { cents: 1005 }
// Map(1) { 'tea' => 3 } Map(1) { 'ink' => 1 }
// example.org
