// The built gateway while its configuration changes, by itself and on SIGHUP.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { Program } from '../support/program.ts'
import { CERT, KEY } from '../support/tls-pair.ts'

const reload = suite('gateway process, reload')
const stage = new Stage()
reload.after.each(() => stage.clear())

function start(...args: string[]): Program {
  return run(args, '')
}

function run(args: readonly string[], input: string): Program {
  const program = new Program('gateway', args, {}, input)
  stage.add({ close: () => program.kill() })
  return program
}

function config(port: number, body: string, more = ''): string {
  return `gateways: { default: { port: ${port}, address: 127.0.0.1${more} } }
routes: [{ policies: { directResponse: { status: 200, body: ${body} } } }]
`
}

async function bodyOf(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/`)).text()
}

reload(
  'takes a changed file, keeps it when the next is refused, and shows both in the log',
  async () => {
    const [port, folder] = [await freePort(), stage.add(new Folder())]
    const program = start('-f', folder.write('c.yaml', config(port, 'one')))
    await program.prints(/loaded config file=\S+ generation=1\n[^]*started bind/)
    assert.is(await bodyOf(port), 'one')
    folder.replace('c.yaml', config(port, 'two'))
    await program.prints(/info\treloaded config reason="file change" generation=2\n/)
    assert.is(await bodyOf(port), 'two')
    folder.replace('c.yaml', config(port, 'three').replace('routes', 'roots'))
    await program.prints(
      /error\tFailed to reload config kept=2\n.*error\tconfig refused problem="\S+c\.yaml:2:1: /s,
    )
    assert.is(await bodyOf(port), 'two')
    program.signal('SIGTERM')
    assert.is(await program.exit(), 0)
  },
)

reload('reads again on SIGHUP, though nothing has changed', async () => {
  const [port, folder] = [await freePort(), stage.add(new Folder())]
  const program = start('-f', folder.write('c.yaml', config(port, 'one')))
  await program.prints(/started bind/)
  await bodyOf(port)
  program.signal('SIGHUP')
  await program.prints(/reloaded config reason=SIGHUP generation=2\n/)
})

reload('follows a folder: a file more, a file less', async () => {
  const [port, folder] = [await freePort(), stage.add(new Folder())]
  folder.write('a.yaml', config(port, 'one'))
  const program = start('-f', folder.path)
  await program.prints(/started bind/)
  folder.write('b.yaml', 'nonsense: true\n')
  await program.prints(/Failed to reload config kept=1\n/)
  folder.remove('b.yaml')
  await program.prints(/reloaded config reason="file change" generation=2\n/)
})

reload('follows the files that a configuration on the command line refers to', async () => {
  const [port, folder] = [await freePort(), stage.add(new Folder())]
  const [cert, key] = [folder.write('cert.pem', CERT), folder.write('key.pem', KEY)]
  const program = start('-c', config(port, 'one', `, tls: { cert: ${cert}, key: ${key} }`))
  await program.prints(/started bind/)
  folder.replace('cert.pem', CERT)
  await program.prints(/reloaded config reason="file change" generation=2\n/)
})

reload('reads standard input once: SIGHUP ends it, as it ends any program', async () => {
  const port = await freePort()
  const program = run(['-f', '-'], config(port, 'one'))
  await program.prints(/started bind/)
  assert.is(await bodyOf(port), 'one')
  program.signal('SIGHUP')
  assert.is(await program.exit(), null)
})

reload('takes nothing any more while it stops', async () => {
  const backend = await stage.backend([{ wait: /\r\n\r\n/ }, { hold: true }])
  const [port, folder] = [await freePort(), stage.add(new Folder())]
  const text = `gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ backends: [{ host: '127.0.0.1:${backend.port}' }] }]
`
  const program = start('-f', folder.write('c.yaml', text))
  await program.prints(/started bind/)
  const client = await stage.client({ port, host: '127.0.0.1' })
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await backend.until((received) => received.includes('\r\n\r\n'))
  program.signal('SIGTERM')
  await program.prints(/shutting down/)
  program.signal('SIGHUP')
  client.destroy()
  assert.is(await program.exit(), 0)
  assert.not.match(program.stdout, /reloaded/)
})

reload.run()
