import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { McpChildProcess } from '../../../../lib/forward/mcp/stdio/child-process.ts'
import { Owner, familyTests, isRunning, until } from './owner.ts'

/** Bytes that pipes and streams may buffer between a child and the owner. */
const IN_BETWEEN = 2_000_000

/** Bytes that a process has written, as counted by the system. */
function writtenBy({ pid }: McpChildProcess): number {
  return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1])
}

/** Waits until two consecutive polls give the same value. */
async function standsStill(count: () => number, what: string): Promise<void> {
  let seen = -1
  let same = 0
  await until(() => {
    const now = count()
    same = now === seen ? same + 1 : 0
    seen = now
    return same === 10
  }, what)
}

const pausing = suite('child: pausing')
const test = familyTests(pausing)

test('stops a child that floods until it is read again, without loss', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'flood')
  const before = process.memoryUsage().rss
  owner.onMessage = () => {
    if (owner.messages.length === 1_000) link.pause()
  }
  await owner.messageCount(1_000)
  await standsStill(() => writtenBy(link), 'the child to be held')
  const { length } = owner.messages
  assert.ok(length < 1_100, `${length} messages, those of one read`)
  const size = owner.messages.reduce((sum, text) => sum + text.length + 1, 0)
  assert.ok(writtenBy(link) - size < IN_BETWEEN, 'the child is held by its pipe')
  assert.ok(process.memoryUsage().rss - before < 100_000_000)
  link.resume()
  await owner.messageCount(10_000)
  link.close()
  owner.params.forEach(({ n }, i) => assert.is(n, i))
})

test('keeps the output before the exit of a child until it is read', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'half')
  link.pause()
  await until(() => harness.children.count === 0, 'the exit')
  await standsStill(() => owner.messages.length + owner.ends.length, 'a message or the end')
  assert.equal(owner.messages, [])
  assert.equal(owner.ends, [])
  link.resume()
  assert.is(await owner.end(), `target 'one' exited with code 0`)
  assert.equal(owner.params, [{ n: 1 }])
})

test('also pauses the output of a grandchild after the child has exited', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'pour')
  owner.onMessage = () => link.pause()
  await until(() => link.exitCode !== null, 'the exit')
  await standsStill(() => owner.messages.length, 'silence')
  assert.ok(owner.messages.length < 200, `${owner.messages.length} messages, those of one read`)
  owner.onMessage = null
  link.resume()
  assert.is(await owner.end(), `target 'one' exited with code 0`)
  owner.params.forEach(({ n }, i) => assert.is(n, i))
})

test('ends a paused child that is closed', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'flood')
  owner.onMessage = () => link.pause()
  await owner.messageCount(1)
  link.close()
  assert.is(await owner.end(), `target 'one' was stopped`)
  await until(() => harness.children.count === 0, 'the end of the child')
  assert.not(isRunning(link.pid))
})

pausing.run()
