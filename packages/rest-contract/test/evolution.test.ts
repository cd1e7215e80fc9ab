import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { connect, contract, field, get, group, header, path, post, query, serve } from '../src/index.js';
import { overTheWire } from '../src/memory.js';

// For each change that is said to be compatible: a client of the old contract against a server of the new one.

const s = z.string();
const Old = contract('Api', {
  rename: post(
    { group: path(s), user: path(s), name: field(s), age: z.int(), dry: query(z.boolean()), lang: header('X-Lang', s) },
    s,
  ),
  find: get({ text: s, page: z.int() }, z.object({ text: s, page: z.int() })),
  touch: post({}, s),
});
const given = { group: 'g', user: 'u', name: 'n', age: 3, dry: true, lang: 'en' };
const told = 'g u n 3 true en';

/** Calls both old operations on the new server, through the encodings of HTTP. */
async function oldClientOf(handle: Parameters<typeof overTheWire>[0]) {
  const client = connect(Old, overTheWire(handle));
  return {
    renamed: await client.rename(given),
    found: await client.find({ text: 't', page: 2 }),
    touched: await client.touch(),
  };
}
const asBefore = { renamed: told, found: { text: 't', page: 2 }, touched: 'ok' };

const { rename, find, touch } = Old.operations;
const says = async (a: { group: string; user: string; name: string; age: number; dry: boolean; lang: string }) =>
  `${a.group} ${a.user} ${a.name} ${a.age} ${a.dry} ${a.lang}`;
const echo = async ({ text, page }: { text: string; page: number }) => ({ text, page });
const ok = async () => 'ok';

describe('an old client against a new server', () => {
  test('unchanged', async () => {
    expect(await oldClientOf(serve(Old, { rename: says, find: echo, touch: ok }))).toEqual(asBefore);
  });

  test('1. operations added', async () => {
    const New = contract('Api', {
      rename,
      find,
      touch,
      list: get({}, s),
      remove: post({ id: path(s) }, s),
      findOne: get({ id: path(s) }, s, { path: 'find' }),
    });
    expect(
      await oldClientOf(serve(New, { rename: says, find: echo, touch: ok, list: ok, remove: ok, findOne: ok })),
    ).toEqual(asBefore);
  });

  test('2. an operation renamed, its old path kept', async () => {
    const New = contract('Api', {
      changeName: post(rename.params, s, { path: 'rename' }),
      search: get(find.params, find.result, { path: 'find' }),
      touch,
    });
    expect(await oldClientOf(serve(New, { changeName: says, search: echo, touch: ok }))).toEqual(asBefore);
  });

  test('3. parameters reordered, path parameters in their order', async () => {
    const New = contract('Api', {
      rename: post(
        {
          lang: header('X-Lang', s),
          age: z.int(),
          group: path(s),
          dry: query(z.boolean()),
          user: path(s),
          name: field(s),
        },
        s,
      ),
      find: get({ page: z.int(), text: s }, find.result),
      touch,
    });
    expect(await oldClientOf(serve(New, { rename: says, find: echo, touch: ok }))).toEqual(asBefore);
  });

  test('4. parameters grouped, and taken from the context of a connection', async () => {
    const New = contract('Api', {
      rename: post(
        {
          who: group({ group: path(s), user: path(s) }),
          what: group({ name: field(s), more: group({ age: z.int() }) }),
          dry: query(z.boolean()),
          lang: header('X-Lang', s),
        },
        s,
      ),
      find: get({ search: group({ text: s, page: z.int() }) }, find.result),
      touch,
    });
    const served = serve(New, {
      rename: ({ who, what: { name, more }, dry, lang }) => says({ ...who, name, ...more, dry, lang }),
      find: ({ search }) => echo(search),
      touch: ok,
    });
    expect(await oldClientOf(served)).toEqual(asBefore);
    // And a new client, which has the language from its context, against the old server.
    const implicit = connect(New, overTheWire(serve(Old, { rename: says, find: echo, touch: ok })), {
      context: { lang: 'en' },
    });
    expect(
      await implicit.rename({ who: { group: 'g', user: 'u' }, what: { name: 'n', more: { age: 3 } }, dry: true }),
    ).toBe(told);
  });

  test('5. path parameters renamed', async () => {
    const New = contract('Api', {
      rename: post(
        {
          team: path(s),
          member: path(s),
          name: field(s),
          age: z.int(),
          dry: query(z.boolean()),
          lang: header('X-Lang', s),
        },
        s,
      ),
      find,
      touch,
    });
    const served = serve(New, {
      rename: ({ team, member, ...rest }) => says({ group: team, user: member, ...rest }),
      find: echo,
      touch: ok,
    });
    expect(await oldClientOf(served)).toEqual(asBefore);
  });

  test('6. other parameters renamed, their old names stated', async () => {
    const New = contract('Api', {
      rename: post(
        {
          group: path(s),
          user: path(s),
          newName: field(s, 'name'),
          years: field(z.int(), 'age'),
          onlyTry: query(z.boolean(), 'dry'),
          language: header('X-Lang', s),
        },
        s,
      ),
      find: get({ words: query(s, 'text'), pageNo: query(z.int(), 'page') }, find.result),
      touch,
    });
    const served = serve(New, {
      rename: ({ group: team, user, newName, years, onlyTry, language }) =>
        says({ group: team, user, name: newName, age: years, dry: onlyTry, lang: language }),
      find: ({ words, pageNo }) => echo({ text: words, page: pageNo }),
      touch: ok,
    });
    expect(await oldClientOf(served)).toEqual(asBefore);
  });

  test('7. other parameters removed', async () => {
    const New = contract('Api', {
      rename: post({ group: path(s), user: path(s) }, s),
      find: get({}, find.result),
      touch,
    });
    const served = serve(New, {
      rename: ({ group: team, user }) => says({ ...given, group: team, user }),
      find: async () => ({ text: 't', page: 2 }),
      touch: ok,
    });
    expect(await oldClientOf(served)).toEqual(asBefore);
  });

  test('8. other parameters added, each with a default', async () => {
    const New = contract('Api', {
      rename: post(
        {
          ...rename.params,
          note: field(s).whenAbsent(''),
          trace: query(s).optional('-'),
          tenant: header('X-Tenant', s).whenAbsent('default'),
        },
        s,
      ),
      find: get({ ...find.params, sort: z.enum(['up', 'down']).default('up'), limit: z.int().optional() }, find.result),
      // The old client sends no body at all here.
      touch: post({ note: field(s).whenAbsent('ok'), more: field(s).optional('') }, s),
    });
    const served = serve(New, {
      rename: ({ note, trace, tenant, ...rest }) => (
        expect([note, trace, tenant]).toEqual(['', '-', 'default']),
        says(rest)
      ),
      find: ({ sort, limit, ...rest }) => (expect([sort, limit]).toEqual(['up', undefined]), echo(rest)),
      touch: async ({ note, more }) => note + more,
    });
    expect(await oldClientOf(served)).toEqual(asBefore);
  });

  test('9. types changed whose serialized formats remain compatible', async () => {
    const Lang = z.string().brand<'Lang'>();
    const New = contract('Api', {
      rename: post(
        {
          group: path(z.union([s, z.int()])),
          user: path(s),
          name: field(s.nullable()),
          age: field(z.number()),
          dry: query(z.union([z.boolean(), z.literal('maybe')])),
          lang: header('X-Lang', Lang),
        },
        s,
      ),
      find: get({ text: s, page: z.bigint() }, z.object({ text: s, page: z.bigint(), total: z.int().optional() })),
      touch: post({}, z.enum(['ok', 'not ok'])),
    });
    const served = serve(New, {
      rename: async ({ group: team, user, name, age, dry, lang }) => `${team} ${user} ${name} ${age} ${dry} ${lang}`,
      find: async ({ text, page }) => ({ text, page, total: 7 }),
      touch: async () => 'ok' as const,
    });
    expect(await oldClientOf(served)).toEqual(asBefore);
  });
});
