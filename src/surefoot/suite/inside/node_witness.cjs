// Loaded first in each process of node's test runner: says whether it came to its own end.
//
// process.exit() and its like never let the loop run empty, so that `beforeExit` does not come.

'use strict';

if (process.env.NODE_TEST_CONTEXT && process.env.SUREFOOT_WITNESS) {
  const { writeSync } = require('node:fs');
  const token = process.env.SUREFOOT_WITNESS;
  delete process.env.SUREFOOT_WITNESS;
  process.once('beforeExit', () => writeSync(2, `\n${token}\n`));
}
