// Markup, scripts and direction marks in all external input: requests, tokens, tool servers, the configuration, URLs and
// files. The page shows all of it as plain text.

import { request } from 'node:http'
import * as assert from 'uvu/assert'
import { childFile } from '../../support/children/child-file.ts'
import { deadline } from '../../support/deadline.ts'
import { Signer } from '../../support/signer.ts'
import { IMAGE, LINK, SCRIPT, TURNED } from '../../support/ui/hostile.ts'
import { judgeOf } from '../../support/ui/judge.ts'
import { Shop } from '../../support/ui/shop.ts'
import type { Visit } from '../../support/ui/visit.ts'

const WAIT_MS = 30_000

/** Routes have no names with spaces or slashes. */
const NAME = 'plain"><iframe>'
const ISSUER = 'https://id.test'

const signer = Signer.make('ES256', 'one')

/** Elements and handlers that the page did not make itself. */
const FOUND = `[
  ...[...document.querySelectorAll('*')].filter((element) =>
    [...element.attributes].some(({ name, value }) =>
      name.startsWith('on') || /^\\s*javascript:/i.test(value) && name !== 'title' && name !== 'value')),
  ...document.querySelectorAll('[src=x], iframe, object, embed, base, meta[http-equiv], script:not(head > script)'),
].map((element) => element.outerHTML.slice(0, 200))`

async function assertUnharmed(visit: Visit): Promise<void> {
  assert.equal(await visit.asks<string[]>(FOUND), [])
  assert.is(await visit.asks('document.scripts.length'), 1)
  assert.is(await visit.asks('String(window.hacked)'), 'undefined')
}

const yaml = (text: string): string => JSON.stringify(text)

async function start(): Promise<Shop> {
  const { jwk } = await signer
  const jwks = JSON.stringify({ keys: [jwk] })
  const command = `{ cmd: ${yaml(process.execPath)}, args: [${yaml(childFile('hostile-mcp'))}] }`
  return Shop.start({
    routes: `
  - name: ${yaml(NAME)}
    matches: [{ path: { exact: /plain } }]
    policies: { directResponse: { status: 200, body: ${yaml(SCRIPT)} } }
  - name: member
    matches: [{ path: { exact: /member } }]
    policies:
      jwtAuth: { mode: strict, issuer: '${ISSUER}', jwks: '${jwks}' }
      authorization: { rules: [${yaml(`jwt.role == "${SCRIPT.replaceAll('"', '')}"`)}, 'jwt.team == "red"'] }
      rateLimit: { local: [{ requests: 100, unit: Hours, key: jwt.sub }] }
      directResponse: { status: 200, body: in }
  - name: chat
    matches: [{ path: { pathPrefix: /v1 } }]
    policies:
      rateLimit:
        local:
          - { tokens: 100000, unit: Hours, key: llm.requestModel }
          - { requests: 1000, unit: Hours, key: 'request.headers["x-team"]' }
    backends: [{ ai: { name: main, provider: { mock: {} } } }]
  - name: tools
    matches: [{ path: { exact: /mcp } }]
    backends: [{ mcp: { targets: [{ name: evil, stdio: ${command} }] } }]
`,
    more: `---
apiVersion: gateway.dev/v1alpha1
kind: GatewayPolicy
metadata: { name: stray, namespace: default }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: ${yaml(IMAGE)} }]
  traffic: { rateLimit: { local: [{ requests: 5, unit: Minutes }] } }
`,
  })
}

const hostile = judgeOf('ui: hostile values', start)

/** `fetch` would normalize the path. */
async function sendRaw({ port }: Shop, path: string): Promise<number> {
  const status = new Promise<number>((resolve, reject) => {
    request({ port, host: '127.0.0.1', path, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    })
      .on('error', reject)
      .end()
  })
  return deadline(status, WAIT_MS, path)
}

async function sendAsMember(world: Shop): Promise<number> {
  const exp = Math.floor(Date.now() / 1000) + 3600
  const claims = { iss: ISSUER, sub: IMAGE, role: SCRIPT, exp, [IMAGE]: TURNED }
  const token = (await signer).token(claims)
  return world.send('/member', {
    headers: { authorization: `Bearer ${token}`, 'user-agent': IMAGE, 'x-other': SCRIPT },
  })
}

hostile('in requests: the overview, the log and the limits', async ({ world, visit }) => {
  assert.is(await world.chat(IMAGE, SCRIPT, `${SCRIPT}${TURNED}`), 200)
  assert.is(await world.send('/plain'), 200)
  const raw = `/nowhere${IMAGE.replaceAll(' ', '')}`
  await sendRaw(world, raw)
  assert.is(await sendAsMember(world), 403)
  await visit.open()
  await visit.sees('.requests tbody tr', SCRIPT)
  await visit.sees('.requests tbody tr', raw)
  await visit.sees('.routes', NAME)
  for (const opener of await visit.page.locator('tr.request button').all()) {
    await opener.click()
    await assertUnharmed(visit)
  }
  await visit.follow('logs')
  await visit.sees('.log-line', SCRIPT)
  await visit.sees('.log-line', raw)
  await assertUnharmed(visit)
  await visit.follow('limits')
  await visit.sees('.limit', SCRIPT)
  await visit.sees('.limit', `for ${IMAGE}`)
  await assertUnharmed(visit)
})

hostile('in the log, a direction mark affects only its own field', async (seat) => {
  const { world, visit } = seat
  assert.is(await world.chat('red', 'hi', TURNED), 200)
  await visit.open('logs')
  const line = visit.page.locator('.log-line', { hasText: TURNED }).last()
  await line.click()
  const fields = await line.locator('.log-text > span').all()
  const boxes = await Promise.all(fields.map((field) => field.boundingBox()))
  const places = boxes.flatMap((box) => (box === null ? [] : [[Math.round(box.y), box.x] as const]))
  const inOrder = places.toSorted(([a, x], [b, z]) => a - b || x - z)
  assert.equal(places, inOrder)
})

hostile('in the configuration: the map, what is in force, and a refused reload', async (seat) => {
  const { world, visit } = seat
  await visit.open('map')
  await visit.sees('.box.route', NAME)
  await visit.sees('.map', `no HTTPRoute named '${IMAGE}'`)
  await visit.page.locator('.box.route', { hasText: 'plain' }).click()
  await visit.sees('.panel', SCRIPT)
  await assertUnharmed(visit)
  world.write((text) => text.replace('routes:', `${yaml(SCRIPT)}: ${yaml(IMAGE)}\nroutes:`))
  await visit.follow('config')
  await visit.sees('.note.bad', SCRIPT)
  await visit.sees('.resources', `no HTTPRoute named '${IMAGE}'`)
  await assertUnharmed(visit)
  await visit.page.setViewportSize({ width: 390, height: 844 })
  await visit.follow('map')
  await visit.sees('.map', NAME)
  await assertUnharmed(visit)
  world.write((text) => text)
  await visit.page.locator('.status', { hasText: 'reload refused' }).waitFor({ state: 'detached' })
})

hostile('in headers and tokens: a trace of them, live and from a file', async (seat) => {
  const { world, visit } = seat
  await visit.open('trace')
  await visit.page.getByRole('button', { name: 'Trace the next request' }).click()
  await visit.sees('.trace-top', 'Waiting for a request')
  assert.is(await sendAsMember(world), 403)
  await visit.sees('.trace-outcome .sentence', '403')
  const shown = await everyStep(visit)
  for (const value of [IMAGE, SCRIPT, TURNED]) assert.match(shown, value)
  const saved = visit.page.waitForEvent('download')
  await visit.page.getByRole('button', { name: 'Save as JSONL' }).click()
  const path = await (await saved).path()
  await visit.open('trace')
  await visit.page.locator('input[type=file]').setInputFiles(path)
  await visit.sees('.trace-outcome .sentence', '403')
  await everyStep(visit)
  const text = [
    SCRIPT,
    '{"a":1}',
    yaml(IMAGE),
    '{"message":{"type":"<img src=x onerror=hacked=9>"}}',
  ]
  const file = { name: IMAGE, mimeType: 'text/plain', buffer: Buffer.from(text.join('\n')) }
  await visit.page.locator('input[type=file]').setInputFiles(file)
  await visit.sees('.trace-note', IMAGE)
  await assertUnharmed(visit)
})

const OPEN_ALL = `for (const fold of document.querySelectorAll('.trace-details details')) fold.open = true`

/** The text of the details of all steps. */
async function everyStep(visit: Visit): Promise<string> {
  const list = visit.page.getByRole('listbox')
  await list.focus()
  await visit.press('Home')
  let text = ''
  const count = await visit.page.locator('.trace-timeline .step').count()
  for (let step = 0; step < count; step++) {
    await visit.page.locator(`#step-${step}[aria-selected=true]`).waitFor()
    await visit.asks(OPEN_ALL)
    text += await visit.page.locator('.trace-details').innerText()
    await assertUnharmed(visit)
    await list.focus()
    await visit.press('ArrowDown')
  }
  return text
}

hostile('in all output of a tool server', async ({ visit }) => {
  await visit.open('mcp')
  await visit.page.getByRole('button', { name: 'Connect' }).click()
  await visit.sees('.connected', `server ${SCRIPT}`)
  await visit.page.locator('.instructions summary').click()
  await visit.sees('.instructions', `instructions ${IMAGE} ${LINK}`)
  await visit.page.getByRole('button', { name: /^attack/ }).click()
  await visit.sees('.item-view', `description ${IMAGE}`)
  await visit.sees('.item-view form', 'constructor')
  await visit.sees('.item-view form', '__proto__')
  await assertUnharmed(visit)
  await visit.page.getByRole('button', { name: 'Call', exact: true }).click()
  await visit.sees('.result', `text ${SCRIPT} ${IMAGE}`)
  await visit.sees('.result', LINK)
  await assertUnharmed(visit)
  await visit.page.locator('.result').getByRole('button', { name: 'Read', exact: true }).click()
  await visit.sees('.result', `read ${IMAGE}`)
  await assertUnharmed(visit)
  await visit.sees('main', new RegExp(`${SCRIPT.replaceAll(/[()/]/g, '\\$&')}`))
  await visit.follow('mcp?tab=children')
  await visit.sees('.children', `stderr ${IMAGE}`)
  await assertUnharmed(visit)
})

hostile('in its prompts, resources and errors', async ({ visit }) => {
  await visit.open('mcp')
  await visit.page.getByRole('button', { name: 'Connect' }).click()
  await visit.page.locator('.items-list li button', { hasText: IMAGE }).last().click()
  await visit.page.getByRole('button', { name: 'Call', exact: true }).click()
  await visit.sees('.result', /refused \S+ ">/)
  await assertUnharmed(visit)
  await visit.page.getByRole('button', { name: /^Prompts/ }).click()
  await visit.page.locator('.items-list li button').first().click()
  await visit.page.getByRole('button', { name: 'Get', exact: true }).click()
  await visit.sees('.result', `said ${IMAGE}`)
  await assertUnharmed(visit)
  await visit.page.getByRole('button', { name: /^Resources/ }).click()
  for (const item of await visit.page.locator('.items-list li button').all()) {
    await item.click()
    for (const hole of await visit.page.locator('.item-view input').all()) await hole.fill(IMAGE)
    await visit.page
      .locator('.item-view')
      .getByRole('button', { name: 'Read', exact: true })
      .click()
    await visit.sees('.result', `read ${IMAGE}`)
    await assertUnharmed(visit)
  }
})

hostile('in shared links', async ({ visit }) => {
  const value = encodeURIComponent(`${IMAGE}${SCRIPT}`)
  // A valid expression in the address starts a trace at once.
  visit.expect(/status of 400 .*\/api\/trace/)
  await visit.open(`trace?expression=${value}`)
  for (const path of [
    `trace?expression=${value}`,
    `map?route=${value}`,
    `logs?route=${value}&text=${value}`,
    `limits?find=${value}`,
    `config?find=${value}`,
    `mcp?backend=${value}&tab=${value}`,
    `${value}?${value}=${value}`,
  ]) {
    await visit.follow(path)
    await visit.sees('.status', 'live')
    await assertUnharmed(visit)
  }
  const said = new URLSearchParams({ state: IMAGE, error: SCRIPT, error_description: IMAGE })
  await visit.page.goto(`${visit.origin}/ui/signed-in?${said.toString()}`)
  await visit.sees('main', 'The provider refused the sign-in. The playground shows the reason.')
  assert.not.match(await visit.page.locator('main').innerText(), /img|script/i)
  await assertUnharmed(visit)
})

hostile.run()
