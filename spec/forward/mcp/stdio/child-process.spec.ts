import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bytesInFlight } from '../../../../lib/core/byte-budgets.ts'
import { MAX_STDIN_BYTES } from '../../../../lib/forward/mcp/stdio/child-process.ts'
import { Owner, familyTests, request, targetOf, until } from './owner.ts'

const child = suite('child')
const test = familyTests(child)

test('carries messages both ways, in order and unchanged', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'echo')
  const texts = Array.from(
    { length: 500 },
    (_x, i) => `{ "jsonrpc":"2.0","id":${i}.0e0,"method":"ü"}`,
  )
  texts.forEach((text, i) => link.send({ bytes: Buffer.from(text), number: i, fields: [] }))
  await owner.messageCount(texts.length)
  assert.equal(owner.messages, texts)
  assert.is(link.state, 'running')
  assert.equal(owner.ends, [])
})

test('reads characters that arrive in pieces', async (harness) => {
  const owner = new Owner()
  harness.open(owner, 'split')
  await owner.messageCount(1)
  assert.equal(owner.params, [{ text: 'grün 語 🜁' }])
})

test('reads a text that is not UTF-8 with replacement characters', async (harness) => {
  const owner = new Owner()
  harness.open(owner, 'latin1')
  await owner.messageCount(1)
  assert.equal(owner.params, [{ text: 'gr\ufffdn' }])
})

test('splits a batch into its messages', async (harness) => {
  const owner = new Owner()
  harness.open(owner, 'batch')
  await owner.messageCount(2)
  assert.equal(owner.params, [{ n: 1 }, { n: 2 }])
  await harness.logged('reason="not a JSON-RPC message: expected an object"')
})

test('drops lines that are not messages, and logs some without their content', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'banner', '20')
  await owner.messageCount(1)
  assert.equal(owner.params, [{ ready: true }])
  link.close()
  await harness.logged('untold=13')
  const lines = harness.log.split('\n').filter((line) => line.includes('is not a JSON-RPC message'))
  assert.is(lines.length, 11)
  assert.match(
    lines[0]!,
    `target=one pid=${link.pid} mcp.session.id=spec bytes=14 reason="not valid JSON"`,
  )
  assert.not.match(harness.log, /Server started|secret/)
})

test('fails a call at once when the child is killed in the middle of it', async (harness) => {
  const owner = new Owner()
  const link = harness.run(owner, targetOf('mcp-server'))
  link.send(request(1, 'tools/call', '{"name":"slow"}'))
  await owner.messageCount(1)
  process.kill(link.pid, 'SIGKILL')
  assert.is(await owner.end(), `target 'one' was killed by SIGKILL`)
  link.send(request(2))
  link.close()
  await harness.logged(
    /child exited target=one pid=\d+ mcp.session.id=spec signal=SIGKILL age=\d+ms/,
  )
  assert.equal(owner.ends.length, 1)
  assert.equal(owner.failures, [])
})

test('reports the exit code of a child', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'exit', '3')
  assert.is(await owner.end(), `target 'one' exited with code 3`)
  await harness.logged(/child exited target=one pid=\d+ mcp.session.id=spec code=3 age=\d+ms/)
  assert.is(link.state, 'ended')
})

test('delivers the messages before the exit, but not an incomplete line', async (harness) => {
  const owner = new Owner()
  harness.open(owner, 'half')
  assert.is(await owner.end(), `target 'one' exited with code 0`)
  assert.equal(owner.params, [{ n: 1 }])
  await harness.logged('bytes=20 reason="not valid JSON"')
})

test(
  'ends a child whose message is above the bound',
  async (harness) => {
    const owner = new Owner()
    harness.open(owner, 'long', '20000')
    const limit = '10000 bytes (config.mcp.maxMessageBytes)'
    assert.is(await owner.end(), `target 'one' sent a message above ${limit}`)
    await until(() => harness.children.count === 0, 'the end of the child')
    assert.equal(owner.messages, [])
  },
  { maxMessageBytes: 10_000 },
)

test('fails requests while too much waits for a child that never reads', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'deaf')
  await owner.messageCount(1)
  const params = JSON.stringify({ fill: 'x'.repeat(100_000) })
  const maxMessages = Math.ceil(MAX_STDIN_BYTES / 100_000)
  for (let number = 1; number <= maxMessages + 10; number++) link.send(request(number, 'x', params))
  assert.equal(owner.failures, [], 'never from within the call')
  await until(() => owner.failures.length > 0, 'a failure')
  const [number, reason] = owner.failures[0]!
  assert.ok(number >= maxMessages && number <= maxMessages + 4, `${number} is the first to fail`)
  assert.is(reason, `target 'one' does not read its stdin: ${MAX_STDIN_BYTES} bytes wait`)
  link.send(request(0))
  await harness.logged('notification dropped: child does not read its stdin')
  assert.equal(owner.ends, [])
  assert.ok(bytesInFlight.unsent >= MAX_STDIN_BYTES, 'it is counted')
  link.kill()
  await until(() => bytesInFlight.unsent === 0, 'what waited to be given back')
})

test(
  'accepts one message of any size when nothing waits',
  async (harness) => {
    const owner = new Owner()
    const link = harness.open(owner, 'echo')
    const large = request(1, 'x', JSON.stringify({ fill: 'é'.repeat(MAX_STDIN_BYTES) }))
    link.send(large)
    await owner.messageCount(1)
    assert.ok(Buffer.from(owner.messages[0]!).equals(large.bytes))
  },
  { maxMessageBytes: 3 * MAX_STDIN_BYTES },
)

test('ends a child that has closed its stdin or stdout', async (harness) => {
  const [shut, mute] = [new Owner(), new Owner()]
  const link = harness.open(shut, 'shut')
  harness.open(mute, 'mute')
  await shut.messageCount(1)
  link.send(request(1))
  assert.is(await shut.end(), `target 'one' closed its standard input`)
  assert.is(await mute.end(), `target 'one' closed its standard output`)
  await until(() => harness.children.count === 0, 'the end of both')
})

test('reports only the end of a child that it has closed', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'flood')
  await owner.messageCount(1)
  const { length } = owner.messages
  link.close()
  link.close()
  link.send(request(1))
  assert.equal(owner.ends, [], 'never from within the call')
  assert.is(await owner.end(), `target 'one' was stopped`)
  await until(() => harness.children.count === 0, 'the end of the child')
  assert.is(owner.messages.length, length)
  assert.is(owner.ends.length, 1)
})

test('can be closed by its owner in the middle of a read', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'flood')
  owner.onMessage = () => link.close()
  assert.is(await owner.end(), `target 'one' was stopped`)
  assert.is(owner.messages.length, 1)
})

child.run()
