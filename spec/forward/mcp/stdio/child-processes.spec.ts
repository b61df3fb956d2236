import { chmodSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Secret } from '../../../../lib/text/secret.ts'
import type { StdioTarget } from '../../../../lib/forward/mcp/stdio/start-child.ts'
import { Folder } from '../../../support/folder.ts'
import {
  ChildHarness,
  NEVER,
  Owner,
  familyTests,
  isRunning,
  request,
  targetOf,
  until,
} from './owner.ts'

/** The answer of the fixture's tool `env`. */
async function envOf(harness: ChildHarness, target: StdioTarget, name?: string): Promise<string> {
  const owner = new Owner()
  const link = harness.run(owner, target)
  link.send(request(1, 'tools/call', JSON.stringify({ name: 'env', arguments: { name } })))
  await owner.messageCount(1)
  link.close()
  const answer = JSON.parse(owner.messages[0]!) as { result: { content: [{ text: string }] } }
  return answer.result.content[0].text
}

const children = suite('children')
const test = familyTests(children)

test(
  'describes each child, and logs its start and end',
  async (harness) => {
    const owner = new Owner()
    const link = harness.open(owner, 'stderr', '1')
    const [early] = [...harness.children]
    assert.is(early!.state, 'starting')
    await owner.messageCount(1)
    await until(() => link.lastStderr().length === 2, 'both lines')
    const { pid, target, age, state, lastStderr } = [...harness.children][0]!
    assert.equal([pid, target, state], [link.pid, 'one', 'running'])
    assert.is(lastStderr()[0], 'line 0 of 1')
    assert.is(early!.lastStderr()[0], 'line 0 of 1', 'made when it is asked for')
    assert.ok(age >= 0 && age < 60_000)
    link.close()
    await harness.logged(`started child target=one pid=${pid} mcp.session.id=spec`)
    await harness.logged(/child exited target=one pid=\d+ mcp.session.id=spec code=0 age=\d+ms/)
    assert.equal([...harness.children], [])
    assert.not.match(harness.log, 'faults')
  },
  {},
  NEVER,
)

test(
  'starts no more than the bound, counting those that are still ending',
  async (harness) => {
    const owners = [new Owner(), new Owner()]
    const links = owners.map((owner) => harness.open(owner, 'stubborn'))
    await Promise.all(owners.map((owner) => owner.messageCount(1)))
    links[0]!.close()
    const refused =
      "target 'one' is not started: 2 child processes are running (config.mcp.maxChildren)"
    const third = new Owner()
    assert.is(harness.children.open(targetOf('faults', ['echo']), third), refused)
    await until(() => harness.children.count === 1, 'the end of the first')
    harness.open(third, 'exit', '0')
    await third.end()
    assert.equal(third.ends, ["target 'one' exited with code 0"])
  },
  { maxChildren: 2 },
)

test(
  'does not count the children of an evicted session, and counts those of another with the same label',
  async (harness) => {
    const [evicted, other] = [new Owner(), new Owner()]
    assert.is(evicted.label, other.label)
    for (const owner of [evicted, other]) harness.open(owner, 'echo')
    assert.is(harness.children.left, 0)
    harness.children.evict(evicted.session)
    assert.is(harness.children.left, 1)
    assert.is(harness.children.evictable, 1)
  },
  { maxChildren: 2 },
)

test('reports why a command cannot be started, and does not count it', async (harness) => {
  const commands = [
    ['no-such-command', 'spawn no-such-command ENOENT'],
    ['/', 'spawn / EACCES'],
    ['bad\0command', 'ERR_INVALID_ARG_VALUE'],
  ] as const
  for (const [cmd, why] of commands) {
    const owner = new Owner()
    const link = harness.children.open({ ...targetOf('echo'), cmd }, owner)
    if (typeof link === 'string') throw new Error(link)
    link.send(request(1))
    link.pause()
    link.resume()
    link.close()
    assert.equal(owner.ends, [], 'never from within the call')
    assert.is(await owner.end(), `target 'one' could not be started: ${why}`)
    await harness.logged(`cannot start child target=one error=`)
    assert.is(harness.children.count, 0)
    assert.is(owner.ends.length, 1)
  }
})

test('prints no argument and no variable when it cannot start', async (harness) => {
  const owner = new Owner()
  const target = { ...targetOf('echo', ['hush\0hush']), env: { TOKEN: new Secret('hush') } }
  assert.not.type(harness.children.open(target, owner), 'string')
  await owner.end()
  await harness.logged('cannot start child')
  assert.not.match(harness.log + owner.ends.join(), 'hush')
})

test('passes on a few variables of the gateway, but no keys', async (harness) => {
  process.env['SPEC_API_KEY'] = 'hush'
  process.env['LC_SPEC'] = 'C'
  try {
    const target = targetOf('mcp-server')
    const names = (await envOf(harness, target)).split(' ')
    assert.ok(names.includes('PATH'))
    assert.not.ok(names.includes('SPEC_API_KEY'))
    assert.is(await envOf(harness, target, 'LC_SPEC'), 'C')
    const inheriting = { ...target, inheritEnv: true }
    assert.is(await envOf(harness, inheriting, 'SPEC_API_KEY'), 'hush')
  } finally {
    delete process.env['SPEC_API_KEY']
    delete process.env['LC_SPEC']
  }
})

test('passes on the environment and the variables of the target', async (harness) => {
  const target = { ...targetOf('mcp-server'), env: { TOKEN: new Secret('hush') } }
  assert.is(await envOf(harness, target, 'TOKEN'), 'hush')
  assert.is(await envOf(harness, target, 'PATH'), process.env['PATH'])
  await harness.logged('started child')
  assert.not.match(harness.log, 'hush')
})

test('passes on only the variables of the target with clearEnv', async (harness) => {
  const target = { ...targetOf('mcp-server'), env: { TOKEN: new Secret('x') }, clearEnv: true }
  assert.is(await envOf(harness, target), 'TOKEN')
})

test('finds a command in the PATH of the gateway that the child does not get', async (harness) => {
  const folder = new Folder()
  const before = process.env['PATH']
  try {
    chmodSync(folder.write('only-here', `#!/bin/sh\nexec ${process.execPath} "$@"\n`), 0o755)
    process.env['PATH'] = `${folder.path}:${before}`
    const target = { ...targetOf('mcp-server'), cmd: 'only-here' }
    assert.match(await envOf(harness, target), /\bPATH\b/)
    assert.is(await envOf(harness, { ...target, clearEnv: true }, 'PATH'), '<unset>')
  } finally {
    process.env['PATH'] = before
    folder.close()
  }
})

test('passes arguments unchanged, without a shell', async (harness) => {
  const owner = new Owner()
  const link = harness.run(owner, targetOf('mcp-server', ['--name', '$(id) `id` "; exit 4 #']))
  link.send(request(1, 'initialize'))
  await owner.messageCount(1)
  assert.match(owner.messages[0]!, JSON.stringify('$(id) `id` "; exit 4 #'))
})

children('ends all children, and starts no more', async () => {
  const harness = new ChildHarness()
  const owners = ['echo', 'deaf', 'stubborn', 'fork', 'flood'].map((way) => {
    const owner = new Owner()
    harness.open(owner, way)
    return owner
  })
  await Promise.all(owners.slice(1).map((owner) => owner.messageCount(1)))
  const twice = [harness.close(), harness.close()]
  const late = harness.children.open(targetOf('faults', ['echo']), new Owner())
  assert.is(late, "target 'one' is not started: the gateway is stopping")
  await Promise.all(twice)
  for (const pid of harness.pids) assert.not(isRunning(pid), `${pid} is left`)
  for (const owner of owners) assert.is(await owner.end(), "target 'one' was stopped")
  await harness.close()
})

children.run()
