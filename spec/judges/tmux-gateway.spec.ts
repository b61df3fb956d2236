// gwctl against the built gateway: a traced request as lines and on the screen of a real terminal.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { HAS_TMUX, Tmux } from '../support/ctl/tmux.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { Program, runProgram } from '../support/program.ts'
import { reportSkip } from '../support/report-skip.ts'

const SECRET = 'hush-this-is-secret'

interface Seen {
  readonly eventEnd: number
  readonly severity: string
  readonly message: { readonly type: string; readonly stage?: string }
}

const judge = suite('gwctl and a gateway')
const stage = new Stage()
judge.after.each(() => stage.clear())

/** Starts a gateway that only alice may use; its admin interface is a unix socket. */
async function start(): Promise<{ port: number; admin: string }> {
  const folder = new Folder()
  const port = await freePort()
  const admin = `unix:${folder.at('admin.sock')}`
  const text = `gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
- name: greeting
  hostnames: [greet.example.com]
  policies:
    authorization: { rules: ['request.headers["x-user"] == "alice"'] }
    directResponse: { status: 200, body: '{"hello":"alice"}' }
`
  const program = new Program('gateway', ['-c', text], { ADMIN_ADDR: admin })
  stage.add({
    close: async () => {
      await program.kill()
      folder.close()
    },
  })
  await program.prints(/started bind/)
  return { port, admin }
}

judge('traces a request from start to end', async () => {
  const { port, admin } = await start()
  const args = ['trace', '--raw', '--admin-url', admin, '--port', String(port), '--']
  const request = ['http://greet.example.com/', '-H', 'x-user: alice', '-H', `cookie: ${SECRET}`]
  const { code, stdout, stderr } = await runProgram('gwctl', [...args, ...request])
  assert.equal([stderr, code], ['', 0])
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Seen)
  const types = events.map(({ message }) => message.type)
  assert.is(types[0], 'requestStarted')
  assert.is(types.at(-1), 'requestFinished')
  for (const type of ['routeSelection', 'authorizationResult', 'policySelection'])
    assert.ok(types.includes(type), type)
  const ends = events.map(({ eventEnd }) => eventEnd)
  assert.equal(
    ends,
    ends.toSorted((a, b) => a - b),
  )
  assert.not.match(stdout, SECRET)
})

judge('traces a refusal with its reason', async () => {
  const { port, admin } = await start()
  const args = ['trace', '--raw', '--admin-url', admin, '--port', String(port), '--']
  const { stdout } = await runProgram('gwctl', [...args, 'http://greet.example.com/'])
  assert.match(stdout, /"type":"authorizationResult".*"result":"deny"/)
  assert.match(stdout, /"type":"requestFinished","status":403/)
})

judge('reports an invalid expression', async () => {
  const { admin } = await start()
  const args = ['trace', '--raw', '--admin-url', admin, '--expression', 'request.(']
  const { code, stderr } = await runProgram('gwctl', args)
  assert.match(stderr, /^Error: trace stream returned 400 Bad Request: invalid expression: /)
  assert.is(code, 1)
})

judge('prints configuration, log levels, tasks and memory', async () => {
  const { admin } = await start()
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runProgram('gwctl', [...args, '--admin-url', admin])
    assert.equal([stderr, code], ['', 0], args.join(' '))
    return stdout
  }
  assert.match(await run('config', 'routes'), /greeting +greet\.example\.com +\/\* /)
  assert.match(await run('config', 'policies'), /authorization +route .*greeting +inline/)
  assert.match(await run('log', '--set', 'admin=debug'), 'current log level is info,admin=debug')
  assert.match(await run('log'), 'current log level is info,admin=debug')
  assert.match(await run('tasks'), 'listeners:')
  assert.match(await run('memory'), /rss: [\d.]+ MiB/)
})

if (HAS_TMUX) {
  judge('waits for a request of another client and explains why it was refused', async () => {
    const { port, admin } = await start()
    const terminal = new Tmux(80, 24)
    stage.add({ close: () => terminal.close() })
    terminal.type(`{gwctl} proxy trace --admin-url ${admin}; echo "exit $?"`)
    await terminal.until(/waiting for trace data/)
    const { status } = await fetch(`http://127.0.0.1:${port}/`)
    assert.is(status, 404)
    await terminal.until(/stream complete, press q to exit/)
    terminal.press('End')
    await terminal.until(/^> +\d+ Request Done .*404 after [\d.]+ .?s: route/m)
    await terminal.until(
      /^404 after [\d.]+ .?s: no route matches GET http:\/\/127\.0\.0\.1:\d+\/ /m,
    )
    terminal.press('q')
    await terminal.until(/^exit 0$/m)
  })

  judge('sends a request and shows the body of its response', async () => {
    const { port, admin } = await start()
    const terminal = new Tmux(80, 24)
    stage.add({ close: () => terminal.close() })
    const url = `http://greet.example.com/ -H 'x-user: alice'`
    terminal.type(`{gwctl} trace --admin-url ${admin} --port ${port} -- ${url}; echo "exit $?"`)
    await terminal.until(/stream complete, press q to exit/)
    terminal.press('End', 'Up', 's')
    await terminal.until(/^> +\d+ Body Snapshot[^]*^ {2}"hello": "alice"$/m)
    terminal.press('g', '/', 'd', 'e', 'n', 'y')
    terminal.press('C-c')
    await terminal.until(/^exit 0$/m)
  })
} else {
  reportSkip('the screen with a gateway', 'tmux is not installed')
}

judge.run()
