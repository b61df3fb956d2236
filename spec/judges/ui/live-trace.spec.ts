// Live traces in a browser: the next request is traced live, a refusal is explained, streams and bodies are shown,
// and a trace can be saved as a file and opened again.

import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { until } from '../../support/idp/until.ts'
import { judgeOf } from '../../support/ui/judge.ts'
import type { Visit } from '../../support/ui/visit.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { Shop } from '../../support/ui/shop.ts'

const WAIT_MS = 30_000

const trace = judgeOf('ui: live trace', () => Shop.start())

/** Enters the expression, if any, and presses the button, by keyboard. */
async function arm(visit: Visit, expression = ''): Promise<void> {
  await visit.tabTo(visit.page.getByRole('textbox'))
  if (expression !== '') await visit.page.keyboard.type(expression)
  await visit.tabTo(visit.page.getByRole('button', { name: 'Trace the next request' }))
  await visit.press('Enter')
  await visit.sees('.trace-top', 'Waiting for a request')
}

async function chooseStep(visit: Visit, label: RegExp): Promise<void> {
  await visit.page.locator('.trace-timeline .step', { hasText: label }).first().click()
}

trace('a 403 is explained by the rule that denied it', async ({ world, visit }) => {
  await visit.open('trace')
  await arm(visit)
  assert.is(await world.send('/team/plans?of=red', { headers: { 'x-team': 'blue' } }), 403)
  await visit.sees('.trace-outcome', 'GET /team/plans')
  await visit.sees('.trace-outcome .sentence', /403[^]*request\.headers\["x-team"\] == "red"/)
  // The step that decided the outcome is selected.
  await visit.sees('.trace-details .rules', /require\s+request\.headers\["x-team"\] == "red"\s+no/)
  const selected = visit.page.locator('.trace-timeline [aria-selected=true]')
  await visit.sees(selected, /Authz/)
  await visit.tabTo(visit.page.getByRole('listbox'))
  await visit.press('Home')
  await visit.sees(selected, /^1\s+Request/i)
})

trace('waits for the request that matches', async ({ world, visit }) => {
  await visit.open('trace')
  await arm(visit, 'request.path == "/down"')
  assert.is(await world.send('/hello'), 200)
  assert.is(await world.send('/down'), 503)
  await visit.sees('.trace-outcome', 'GET /down')
  await visit.sees('.trace-outcome .sentence', /503[^]*(?:refused|reached|connect)/)
})

trace('an invalid expression is reported', async ({ visit }) => {
  await visit.open('trace')
  visit.expect(/status of 400/)
  await visit.page.getByRole('textbox').fill('request.path ==')
  await visit.press('Enter')
  await visit.sees('#trace-error', /\S/)
})

trace('shows the events of a stream with their times and text', async (seat) => {
  const { world, visit } = seat
  await visit.open('trace')
  await arm(visit)
  assert.is(await world.chat('red', 'Say this again'), 200)
  await visit.sees('.trace-outcome .sentence', '200')
  await chooseStep(visit, /Body Snapshot.*response/s)
  await visit.sees('.trace-events', 'Complete text of the model')
  await visit.sees('.trace-events .events li', /\S/)
  assert.ok((await visit.page.locator('.trace-events .events li').count()) > 2)
  await visit.page.locator('.trace-events summary').first().click()
  await visit.sees('.trace-events pre', 'Say this again')
})

trace('a saved trace can be opened again', async ({ world, visit }) => {
  await visit.open('trace')
  await arm(visit)
  assert.is(await world.send('/hello'), 200)
  await visit.sees('.trace-outcome .sentence', '200')
  const saved = visit.page.waitForEvent('download')
  await visit.page.getByRole('button', { name: 'Save as JSONL' }).click()
  const path = await (await saved).path()
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  assert.ok(lines.length > 3)
  for (const line of lines) assert.type(JSON.parse(line), 'object')
  await visit.open('trace')
  await visit.page.locator('input[type=file]').setInputFiles(path)
  await visit.sees('.trace-outcome', 'GET /hello')
  await visit.sees('.trace-outcome .request-line', /from \S+/)
  await visit.sees('.trace-outcome .sentence', '200')
})

trace('a link starts a trace, and the trace is still there after going back', async (seat) => {
  const { world, visit } = seat
  const expression = encodeURIComponent('request.method == "GET" && request.path == "/hello"')
  await visit.open(`trace?expression=${expression}`)
  await visit.sees('.trace-top', 'Waiting for a request that matches')
  await visit.sees('.trace-top .command', `curl -i http://127.0.0.1:${world.port}/hello`)
  assert.is(await world.send('/hello'), 200)
  await visit.sees('.trace-outcome .request-line', /GET \/hello\s+\d{4}-\d\d-\d\d/)
  await visit.follow('logs')
  await visit.page.goBack()
  await visit.sees('.trace-outcome .request-line', /GET \/hello/)
  await visit.page.getByRole('button', { name: 'Trace the next request' }).waitFor()
})

trace('a file that is not a trace is reported', async ({ visit }) => {
  await visit.open('trace')
  const file = { name: 'bad.jsonl', mimeType: 'text/plain', buffer: Buffer.from('not json\n') }
  await visit.page.locator('input[type=file]').setInputFiles(file)
  await visit.sees('.trace-note', 'bad.jsonl is not a saved trace: line 1 is not JSON.')
})

trace('the selected step is visible, even among many steps', async ({ world, visit }) => {
  await visit.page.setViewportSize({ width: 1280, height: 700 })
  await visit.open('trace')
  await arm(visit)
  assert.is(await world.chat('red', 'Say this again'), 200)
  await visit.sees('.trace-outcome .sentence', '200')
  const row = await visit.page.locator('.trace-timeline [aria-selected=true]').boundingBox()
  const list = await visit.page.locator('.trace-timeline .steps').boundingBox()
  const [bottom, end] = [row!.y + row!.height, list!.y + list!.height]
  assert.ok(row!.y >= list!.y && bottom <= Math.min(end, 700) + 1, `${bottom} of ${end}`)
  assert.is(await visit.page.evaluate<number>('scrollY'), 0)
})

trace('on a phone a tapped step is shown', async ({ world, visit }) => {
  await visit.page.setViewportSize({ width: 390, height: 844 })
  await visit.open('trace')
  await arm(visit)
  assert.is(await world.send('/hello'), 200)
  await visit.sees('.trace-outcome .sentence', '200')
  await chooseStep(visit, /Route/)
  await visit.sees('.trace-details h2', /Route/)
  const top = async (): Promise<number> =>
    (await visit.page.locator('.trace-details').boundingBox())!.y
  await until(top, (at) => at >= 0 && at < 300, WAIT_MS)
  await visit.page.getByRole('button', { name: 'Back to steps' }).click()
  await until(top, (at) => at > 300, WAIT_MS)
})

trace('is accessible in light and dark, and fits a phone', async ({ world, visit }) => {
  await visit.open('trace')
  await assertPresentable(visit)
  await arm(visit)
  assert.is(await world.send('/team', { headers: { 'x-team': 'blue' } }), 403)
  await visit.page.locator('.trace-details .rules').waitFor()
  await assertPresentable(visit)
})

trace.run()
