import { HttpErrorException } from 'rest-contract';
import { highestEpochHeader } from './agent-api.js';
import { readIfThere, writeDurably } from '../../platform/files.js';

/** Refused: a newer leader has been here. Thrown anywhere on the way of a call, it is the call's answer. */
export class EpochOver extends HttpErrorException {
  constructor(asked: number, highest: number) {
    super(409, `Epoch ${asked} is over: ${highest} has been seen`, {
      headers: [[highestEpochHeader, String(highest)]],
    });
  }
}

/** The highest epoch seen. On disk before anything is done in its name, so that a restart cannot forget it. */
export class Epochs {
  private saving: Promise<void> = Promise.resolve();
  private constructor(
    private readonly file: string,
    private highestSeen: number,
    private highestSaved: number,
  ) {}

  static async load(file: string): Promise<Epochs> {
    const text = (await readIfThere(file))?.trim() || '0';
    const highest = Number(text);
    if (!Number.isSafeInteger(highest)) throw new Error(`${file} holds '${text}', which is not an epoch`);
    return new Epochs(file, highest, highest);
  }

  get highest(): number {
    return this.highestSeen;
  }

  /** Throws EpochOver. What awaits something after this must call `require` again before it acts. */
  async admit(epoch: number): Promise<void> {
    this.require(epoch);
    // From here on a lower one is refused, even while this one is still on its way to the disk.
    this.highestSeen = epoch;
    if (this.highestSaved < epoch) await this.save(epoch);
    this.require(epoch);
  }

  require(epoch: number): void {
    if (epoch < this.highestSeen) throw new EpochOver(epoch, this.highestSeen);
  }

  /** One at a time, so that a lower one never replaces a higher one on disk. A failed one is tried again by the next call. */
  private save(epoch: number): Promise<void> {
    this.saving = this.saving
      .catch(() => undefined)
      .then(async () => {
        if (this.highestSaved >= epoch) return;
        await writeDurably(this.file, `${epoch}\n`);
        this.highestSaved = epoch;
      });
    return this.saving;
  }
}
