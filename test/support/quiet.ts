import { Logger } from '@nestjs/common';

// What the product logs would bury what the tests say. TEST_LOG=1 shows it.
if (!process.env['TEST_LOG']) Logger.overrideLogger(false);
