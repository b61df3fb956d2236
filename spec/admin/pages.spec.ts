// The index page, /quitquitquit, and the readiness probe.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  createIndexEndpoints,
  createQuitEndpoints,
  createReadinessEndpoints,
} from '../../lib/admin/admin-endpoints.ts'
import type { Readiness } from '../../lib/admin/admin-endpoints.ts'
import { adminWith } from '../support/admin.ts'
import { Stage } from '../support/gateway.ts'

const pages = suite('admin/pages')
const stage = new Stage()
pages.after.each(() => stage.clear())

const DUMP = { '/config_dump': { GET: () => {} } }

pages('the index links the endpoints that exist, and no others', async () => {
  const ask = await adminWith(stage, createIndexEndpoints(DUMP))
  const { status, headers, text } = await ask('GET /')
  assert.is(status, 200)
  assert.is(headers.get('content-type'), 'text/html; charset=utf-8')
  assert.ok(text.includes('<a href="/config_dump">/config_dump</a>'))
  assert.ok(text.includes('<a href="/ui">/ui</a>'))
  assert.not.ok(text.includes('/debug/pprof/profile'))
})

pages('the index can run no script, load nothing, and be framed by no page', async () => {
  const ask = await adminWith(stage, createIndexEndpoints(DUMP))
  const { headers, text } = await ask('GET /')
  const policy = headers.get('content-security-policy') ?? ''
  assert.match(policy, /^default-src 'none';/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.is(headers.get('x-content-type-options'), 'nosniff')
  assert.not.match(text, /<script|<style|<form| on[a-z]+=/)
})

pages('quits when its response is sent; a GET does not quit', async () => {
  let quits = 0
  const ask = await adminWith(
    stage,
    createQuitEndpoints(() => quits++),
  )
  const wrong = await ask('GET /quitquitquit')
  assert.is(wrong.status, 405)
  assert.is(wrong.headers.get('allow'), 'POST')
  assert.is(quits, 0)
  const { status, text } = await ask('POST /quitquitquit')
  assert.is(status, 200)
  assert.is(text, 'shutdown now\n')
  assert.is(quits, 1)
})

pages('no web page can make it quit', async () => {
  let quits = 0
  const ask = await adminWith(
    stage,
    createQuitEndpoints(() => quits++),
  )
  const browsers: Record<string, string>[] = [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:3000' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]
  for (const headers of browsers)
    assert.is((await ask('POST /quitquitquit', headers)).status, 403, JSON.stringify(headers))
  assert.is(quits, 0)
})

pages('readiness follows the state of the gateway', async () => {
  let state: Readiness = 'starting'
  const ask = await adminWith(
    stage,
    createReadinessEndpoints(() => state),
  )
  const readiness = async () => {
    const { status, text } = await ask('GET /healthz/ready')
    return `${status} ${text}`
  }
  assert.is(await readiness(), '503 not ready: starting\n')
  state = 'ready'
  assert.is(await readiness(), '200 ready\n')
  assert.is((await ask('HEAD /healthz/ready')).status, 200)
  state = 'draining'
  assert.is(await readiness(), '503 not ready: draining\n')
  assert.is((await ask('POST /healthz/ready')).status, 405)
  assert.is((await ask('GET /healthz')).status, 404)
})

pages.run()
