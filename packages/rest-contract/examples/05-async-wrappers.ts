// Promise unless said otherwise; observables and lazy tasks ship, others take a type and two conversions.
import { firstValueFrom, map, of } from 'rxjs';
import { z } from 'zod';
import { connect, contract, get, serve } from 'rest-contract';
import { observable } from 'rest-contract/rxjs';
import { task } from 'rest-contract/task';

const Api = contract('Api', { square: get({ n: z.int() }, z.int()) });
const handle = serve(Api, { square: ({ n }) => of(n * n) }, { wrapper: observable });

const reactive = connect(Api, handle, { wrapper: observable });
console.log(await firstValueFrom(reactive.square({ n: 3 }).pipe(map((n) => `${n}!`))));

const lazy = connect(Api, handle, { wrapper: task });
const later = lazy.square({ n: 4 }); // no call yet
console.log(await later());

// prints:
// 9!
// 16
