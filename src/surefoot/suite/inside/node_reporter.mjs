// A reporter for node's test runner (node --test --test-reporter=THIS): signed records on standard output.
//
// It runs in the process that starts the tests' processes, where no code under test is loaded. The key comes through
// standard input and is never handed on, so that nobody else can write a record. See surefoot/suite/formats/node.py.

import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';

const key = Buffer.from(readFileSync(0, 'utf8').trim(), 'hex');
const witness = process.env.SUREFOOT_WITNESS;

const bySeen = new Map(); // file -> { open, tests, ended }

function seen(file) {
  if (!bySeen.has(file)) bySeen.set(file, { open: 0, ended: false });
  return bySeen.get(file);
}

function outcome(type, data) {
  const failed = type === 'test:fail';
  if (data.skip !== undefined && data.skip !== false) return 'skipped';
  if (data.todo !== undefined && data.todo !== false) return failed ? 'xfailed' : 'xpassed';
  return failed ? 'failed' : 'passed';
}

function explain(data) {
  const error = data.details?.error;
  if (!error) return { message: '', stack: '', failure: '' };
  const cause = error.cause ?? error;
  const isError = typeof cause === 'object' && cause !== null && 'message' in cause;
  const message = isError ? `${cause.name ?? 'Error'}: ${cause.message}` : String(cause);
  const stack = isError && cause.stack ? String(cause.stack) : message;
  return { message, stack, failure: String(error.failureType ?? '') };
}

export default async function* report(source) {
  let count = 0;
  const sign = (record) => {
    const body = JSON.stringify({ n: count++, ...record });
    return `${createHmac('sha256', key).update(body).digest('hex')} ${body}\n`;
  };
  const names = []; // of the tests around, by nesting
  for await (const { type, data } of source) {
    if (type === 'test:enqueue' && data.file) seen(data.file).open += 1;
    if (type === 'test:complete' && data.file) seen(data.file).open -= 1;
    if (type === 'test:stderr' && data.file && data.message.includes(witness)) seen(data.file).ended = true;
    if (type === 'test:start') names.splice(data.nesting, names.length, data.name);
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const fileLevel = data.nesting === 0 && data.name === data.file;
    yield sign({
      kind: 'test',
      file: data.file ?? '',
      file_level: fileLevel,
      names: [...names.slice(0, data.nesting), data.name],
      suite: data.details?.type === 'suite',
      outcome: outcome(type, data),
      wall_ms: data.details?.duration_ms ?? 0,
      ...explain(data),
    });
  }
  const early = [...bySeen].filter(([, file]) => file.open !== 0 || !file.ended).map(([name]) => name);
  yield sign({ kind: 'end', early });
}
