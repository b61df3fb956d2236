// /logging: reads, changes and resets the filter, and explains invalid requests.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createLoggingEndpoints } from '../../lib/admin/logging-endpoint.ts'
import { Log } from '../../lib/core/log.ts'
import { adminWith } from '../support/admin.ts'
import type { SendRequest } from '../support/admin.ts'
import { Stage } from '../support/gateway.ts'

const logging = suite('admin/logging')
const stage = new Stage()
logging.after.each(() => stage.clear())

async function started(level: string): Promise<{ log: Log; ask: SendRequest }> {
  const log = new Log({ level, format: 'text', write: (_text, done) => done() })
  return { log, ask: await adminWith(stage, createLoggingEndpoints(log)) }
}

logging('answers with the filter as text', async () => {
  const { ask } = await started('warn,mcp=debug')
  const { status, headers, text } = await ask('GET /logging')
  assert.is(status, 200)
  assert.is(headers.get('content-type'), 'text/plain')
  assert.is(text, 'current log level is warn,mcp=debug\n')
  assert.is((await ask('POST /logging')).text, text)
})

logging('a GET changes nothing, whatever its query', async () => {
  const { ask } = await started('info')
  assert.is((await ask('GET /logging?level=trace')).text, 'current log level is info\n')
})

logging('a level replaces the filter, which takes effect at once', async () => {
  const { log, ask } = await started('info')
  assert.not.ok(log.allows('trace', 'forward'))
  const { text } = await ask('POST /logging?level=warn,forward=trace')
  assert.is(text, 'current log level is warn,forward=trace\n')
  assert.ok(log.allows('trace', 'forward'))
  assert.not.ok(log.allows('info', 'request'))
  const next = await ask('POST /logging?level=mcp=off')
  assert.is(next.text, 'current log level is info,mcp=off\n')
  assert.not.ok(log.allows('error', 'mcp'))
  assert.not.ok(log.allows('trace', 'forward'))
  assert.is((await ask('POST /logging?level=debug')).text, 'current log level is debug\n')
})

logging('set changes some modules and keeps the others', async () => {
  const { ask } = await started('warn,forward=trace')
  const { text } = await ask('POST /logging?set=mcp=off,forward=debug')
  assert.is(text, 'current log level is warn,forward=debug,mcp=off\n')
  assert.is((await ask('POST /logging?set=loud')).status, 400)
  const both = await ask('POST /logging?level=error&set=mcp=debug')
  assert.is(both.text, 'current log level is error,mcp=debug\n')
})

logging('accepts levels in upper and lower case', async () => {
  const { ask } = await started('info')
  assert.is((await ask('POST /logging?level=DEBUG')).text, 'current log level is debug\n')
})

logging(
  'reset returns to the initial filter, with or without a value, and then applies a level',
  async () => {
    const { ask } = await started('info,auth=warn')
    const changed = async () => ask('POST /logging?level=trace,auth=trace,llm=debug')
    const first = 'current log level is info,auth=warn\n'
    for (const reset of ['reset', 'reset=', 'reset=true', 'reset=false']) {
      await changed()
      assert.is((await ask(`POST /logging?${reset}`)).text, first)
    }
    await changed()
    const { text } = await ask('POST /logging?reset&level=mcp=debug')
    assert.is(text, 'current log level is info,auth=warn,mcp=debug\n')
  },
)

logging('refuses an invalid level, lists the valid ones, and changes nothing', async () => {
  const { ask } = await started('info')
  for (const level of ['loud', '', 'mcp=', 'info,loud', 'mcp=loud', 'a b=info', 'x'.repeat(9000)]) {
    const { status, text } = await ask(`POST /logging?level=${encodeURIComponent(level)}`)
    assert.is(status, 400, level)
    assert.ok(text.startsWith(`Invalid level provided: ${level.slice(0, 1024)}`), level)
    assert.match(text, /\nmodules: accept, admin, auth, .*request\n$/)
  }
  assert.is((await ask('GET /logging')).text, 'current log level is info\n')
})

logging('accepts unknown modules, up to a limit', async () => {
  const { ask } = await started('info')
  const unknown = await ask('POST /logging?level=info,rmcp::service=trace')
  assert.is(unknown.text, 'current log level is info,rmcp::service=trace\n')
  const many = Array.from({ length: 70 }, (_, at) => `m${at}=info`).join()
  assert.is((await ask(`POST /logging?level=${many}`)).status, 400)
  assert.is((await ask('GET /logging')).text, unknown.text)
})

logging('answers 405 for another method', async () => {
  const { ask } = await started('info')
  const { status, headers } = await ask('PUT /logging?level=debug')
  assert.is(status, 405)
  assert.is(headers.get('allow'), 'GET, POST')
})

logging.run()
