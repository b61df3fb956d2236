import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ChildTermination } from '../../../../lib/forward/mcp/stdio/end-child.ts'
import { deadline } from '../../../support/deadline.ts'
import { ChildHarness, NEVER, Owner, QUICK, familyTests, isRunning, until } from './owner.ts'

const ending = suite('ending')
const test = familyTests(ending)

ending('a child that reads its stdin ends without a signal', async () => {
  const harness = new ChildHarness({}, NEVER)
  const owner = new Owner()
  const link = harness.open(owner, 'banner')
  await owner.messageCount(1)
  link.close()
  assert.is(link.state, 'ending')
  await harness.close()
  assert.equal([link.exitCode, link.exitSignal, link.state], [0, null, 'ended'])
})

test('a child that ignores the end of its stdin is sent SIGTERM', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'deaf')
  await owner.messageCount(1)
  const before = performance.now()
  link.close()
  await until(() => harness.children.count === 0, 'the end of the child')
  assert.ok(performance.now() - before >= QUICK.stdin - 5, 'after its grace')
  assert.equal([link.exitCode, link.exitSignal], [null, 'SIGTERM'])
})

test('a child that ignores SIGTERM, too, is killed', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'stubborn')
  await owner.messageCount(1)
  const before = performance.now()
  link.close()
  await until(() => harness.children.count === 0, 'the end of the child')
  assert.ok(performance.now() - before >= QUICK.stdin + QUICK.term - 5, 'after both graces')
  assert.is(link.exitSignal, 'SIGKILL')
  await harness.logged(
    /child exited target=one pid=\d+ mcp.session.id=spec signal=SIGKILL age=\d+ms/,
  )
})

test(
  'the processes of a wrapper end with it, and are counted until then',
  async (harness) => {
    const owner = new Owner()
    const link = harness.open(owner, 'fork')
    await owner.messageCount(1)
    const grandchild = Number(owner.params[0]!['pid'])
    assert.ok(grandchild > 0 && grandchild !== link.pid)
    link.close()
    await until(() => link.exitCode !== null, 'the exit of the wrapper')
    assert.ok(isRunning(grandchild))
    assert.is(harness.children.count, 1)
    assert.is(link.state, 'ending')
    await until(() => harness.children.count === 0, 'the end of the group')
    await until(() => !isRunning(grandchild), 'the end of the grandchild')
  },
  {},
  { ...QUICK, stdin: 1_500 },
)

test('the descendants of a dead wrapper that hold its stdout are ended', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'fork', '5')
  await until(() => link.exitCode !== null, 'the exit of the wrapper')
  assert.is(await owner.end(), `target 'one' exited with code 5`)
  await until(() => harness.children.count === 0, 'the end of the group')
  const [{ pid } = {}] = owner.params
  await until(() => !isRunning(Number(pid ?? 0)), 'the end of the grandchild')
})

test('a descendant in another group delays neither the end nor the close of our pipes', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'escape', '60000')
  await owner.messageCount(1)
  const descendant = Number(owner.params[0]!['pid'])
  const pipes = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length
  const open = pipes()
  process.kill(link.pid, 'SIGKILL')
  assert.is(await owner.end(), `target 'one' was killed by SIGKILL`)
  assert.is(harness.children.count, 0)
  await until(() => pipes() <= open - 2, 'our ends of its pipes to be closed')
  assert.ok(isRunning(descendant), 'while it still runs')
  process.kill(descendant, 'SIGKILL')
  await until(() => !isRunning(descendant), 'its own end')
})

ending('kills every group at once when the gateway exits', async () => {
  const harness = new ChildHarness({}, NEVER)
  const owners = [new Owner(), new Owner()]
  harness.open(owners[0]!, 'stubborn')
  harness.open(owners[1]!, 'fork')
  await Promise.all(owners.map((owner) => owner.messageCount(1)))
  const pids = [...harness.pids, ...owners.map((owner) => Number(owner.params[0]!['pid']))]
  harness.children.killAll()
  await harness.close()
  assert.equal(await owners[0]!.end(), `target 'one' was stopped`)
  for (const pid of pids) await until(() => !isRunning(pid), `the end of ${pid}`)
})

ending('gives up on a process that cannot be killed', async () => {
  const over = new Promise<void>((resolve) => {
    // There is no such group, so the exit of its leader is never reported.
    new ChildTermination(2 ** 30, { stdin: 10, term: 10, drain: 10 }, resolve).inputClosed()
  })
  await deadline(over, 30_000, 'the end of the ending')
})

ending.run()
