import { failWith } from './say.mjs';
import { setUp } from './setup.mjs';

await setUp().catch(failWith);
