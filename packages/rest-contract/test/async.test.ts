import { firstValueFrom, NEVER, Observable, of, throwError } from 'rxjs';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  type AsyncWrapper,
  connect,
  contract,
  get,
  HttpErrorException,
  ndjson,
  serve,
  type Service,
  unit,
} from '../src/index.js';
import { observable } from '../src/rxjs.js';
import { type Task, task } from '../src/task.js';
import { all, outcome, request } from './support/wire.js';

const Api = contract('Api', {
  add: get({ a: z.int(), b: z.int() }, z.int()),
  fail: get({}, unit),
  stream: get({}, ndjson(z.int())),
});

class Future<T> {
  constructor(readonly run: (done: (error: unknown, value?: T) => void) => void) {}
}
declare module '../src/async/wrappers.js' {
  interface AsyncWrappers<T> {
    future: Future<T>;
  }
}
async function settle<T>(call: () => Promise<T>, done: (error: unknown, value?: T) => void) {
  try {
    done(undefined, await call());
  } catch (error) {
    done(error);
  }
}
const future: AsyncWrapper<'future'> = {
  name: 'future',
  toPromise: (wrapped) =>
    new Promise((resolve, reject) => wrapped.run((error, value) => (error ? reject(error) : resolve(value as never)))),
  fromCall: (call) => new Future((done) => void settle(call, done)),
};

async function* numbers() {
  yield 1;
  yield 2;
}

describe('RxJS', () => {
  const service: Service<typeof Api, 'observable'> = {
    add: ({ a, b }) => of(a + b),
    fail: () => throwError(() => new HttpErrorException(409, 'No')),
    stream: () => numbers(),
  };
  const served = serve(Api, service, { wrapper: observable });
  const client = connect(Api, served, { wrapper: observable });
  test('round trip', async () => {
    expectTypeOf(client.add).returns.toEqualTypeOf<Observable<number>>();
    expect(await firstValueFrom(client.add({ a: 1, b: 2 }))).toBe(3);
    await expect(firstValueFrom(client.fail())).rejects.toMatchObject({ status: 409, message: 'No' });
    expect(await all(await firstValueFrom(client.stream()))).toEqual([1, 2]);
  });
  test('every subscription is a call, and unsubscribing gives it up', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const hanging = connect(Api, (asked) => (signals.push(asked.signal), new Promise(() => {})), {
      wrapper: observable,
    });
    const sum = hanging.add({ a: 1, b: 2 });
    expect(signals).toHaveLength(0);
    const subscription = sum.subscribe({ error: () => {} });
    sum.subscribe({ error: () => {} });
    await Promise.resolve();
    expect(signals).toHaveLength(2);
    subscription.unsubscribe();
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, false]);
  });
  test('a caller who hangs up unsubscribes', async () => {
    let torn = false;
    const slow = serve(
      Api,
      { ...service, add: () => new Observable<number>(() => () => (torn = true)) },
      { wrapper: observable },
    );
    const controller = new AbortController();
    const answer = slow(
      request('GET', '/add', {
        query: [
          ['a', '1'],
          ['b', '2'],
        ],
        signal: controller.signal,
      }),
    );
    await Promise.resolve();
    controller.abort(new Error('gone'));
    expect(await outcome(answer)).toMatchObject({ status: 500 });
    expect(torn).toBe(true);
    void NEVER;
  });
  test('completing without a value answers an operation without result', async () => {
    const empty = serve(
      Api,
      { ...service, fail: () => new Observable<void>((to) => to.complete()) },
      { wrapper: observable },
    );
    expect(await outcome(empty(request('GET', '/fail')))).toEqual({ status: 204, text: 'empty' });
  });
});

describe('a lazy task', () => {
  test('starts when it is run, once per run', async () => {
    let calls = 0;
    const service: Service<typeof Api, 'task'> = {
      add:
        ({ a, b }) =>
        async () => ((calls += 1), a + b),
      fail: () => async () => {},
      stream: () => numbers(),
    };
    const client = connect(Api, serve(Api, service, { wrapper: task }), { wrapper: task });
    const sum = client.add({ a: 1, b: 2 });
    expectTypeOf(sum).toEqualTypeOf<Task<number>>();
    expect(calls).toBe(0);
    expect([await sum(), await sum(), calls]).toEqual([3, 3, 2]);
  });
});

describe("a user's own container", () => {
  test('needs its type and two conversions', async () => {
    const served = serve(
      Api,
      {
        add: ({ a, b }) => new Future((done) => done(undefined, a + b)),
        fail: () => new Future<void>((done) => done(new HttpErrorException(418, 'tea'))),
        stream: () => numbers(),
      },
      { wrapper: future },
    );
    const client = connect(Api, served, { wrapper: future });
    expectTypeOf(client.add).returns.toEqualTypeOf<Future<number>>();
    const result = new Promise((resolve, reject) =>
      client.add({ a: 2, b: 3 }).run((error, value) => (error ? reject(error) : resolve(value))),
    );
    expect(await result).toBe(5);
    const failure = new Promise((resolve) => client.fail().run(resolve));
    expect(await failure).toMatchObject({ status: 418, message: 'tea' });
  });
  test('server and client choose theirs independently', async () => {
    const served = serve(Api, { add: async ({ a, b }) => a + b, fail: async () => {}, stream: numbers });
    expect(await connect(Api, served, { wrapper: task }).add({ a: 1, b: 1 })()).toBe(2);
  });
});
