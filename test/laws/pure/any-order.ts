import { Random } from '../../support/simulated-cluster/random.js';
import { LawBroken } from '../rules/law-broken.js';

/** Takes every decision a second time, on the same rows in another order, and compares. */
export class AnyOrder {
  private readonly random: Random;

  constructor(
    seed: number,
    private readonly isOn: boolean,
  ) {
    this.random = new Random(seed);
  }

  /** `decide` answers plain data. */
  decide<Input, Decision>(
    what: string,
    input: Input,
    shuffle: (input: Input, mixed: Mix) => Input,
    decide: (input: Input) => Decision,
  ): Decision {
    const decision = decide(input);
    if (!this.isOn) return decision;
    const again = decide(shuffle(input, (rows) => this.random.shuffled(rows)));
    const [first, second] = [JSON.stringify(decision), JSON.stringify(again)];
    if (first === second) return decision;
    const [one, other] = difference(first, second);
    throw new LawBroken('The order of rows never changes a decision', `${what}: ${one} became ${other}`);
  }
}

export type Mix = <Row>(rows: readonly Row[]) => Row[];

/** Both from a little before they part, and not much of it. */
function difference(first: string, second: string): [string, string] {
  let same = 0;
  while (first[same] === second[same]) same += 1;
  const from = Math.max(0, same - 100);
  return [first.slice(from, same + 200), second.slice(from, same + 200)];
}
