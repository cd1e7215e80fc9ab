import fc from 'fast-check';
import { lawSettings } from './law-settings.js';

// Every property begins at the seed that CI derives from the program's files: the same program gets the same verdict.
const { seed } = lawSettings;
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
