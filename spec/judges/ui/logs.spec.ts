// The log in a browser: live lines, filters, and the level changed by keyboard.

import * as assert from 'uvu/assert'
import { judgeOf } from '../../support/ui/judge.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { Shop } from '../../support/ui/shop.ts'
import { deadline } from '../../support/deadline.ts'

const WAIT_MS = 30_000

const logs = judgeOf('ui: logs', () => Shop.start())

async function levelOf({ origin }: Shop): Promise<string> {
  const answer = await deadline(fetch(`${origin}/logging`), WAIT_MS, '/logging')
  return (await deadline(answer.text(), WAIT_MS, '/logging')).trim()
}

logs('lines appear live, with the reason of a refusal', async ({ world, visit }) => {
  await visit.open('logs')
  await visit.sees('.log-line', 'started bind')
  assert.is(await world.send('/team?secret=no'), 403)
  await visit.sees('.log-line', /GET \/team\s+403[^]*reason=authorization_denied\s+rule=0/)
})

logs('a search finds lines by words and fields', async ({ world, visit }) => {
  assert.is(await world.send('/hello'), 200)
  assert.is(await world.send('/team'), 403)
  await visit.open('logs')
  await visit.sees('.log-line', 'GET /hello')
  await visit.tabTo(
    visit.page
      .getByRole('textbox', { name: 'Text' })
      .or(visit.page.getByRole('searchbox', { name: 'Text' })),
  )
  await visit.page.keyboard.type('http.status=403')
  await visit.page.locator('.log-line', { hasText: 'GET /hello' }).waitFor({ state: 'detached' })
  await visit.sees('.log-line', 'GET /team')
})

logs('the level is changed by keyboard, applies at once, and can be reset', async (seat) => {
  const { world, visit } = seat
  assert.is(await levelOf(world), 'current log level is info')
  await visit.open('logs')
  const form = visit.page.locator('.level-card form')
  await visit.tabTo(form.getByLabel('Module'))
  await visit.page.keyboard.type('request')
  await visit.tabTo(form.getByLabel('Level'))
  await visit.page.keyboard.type('error')
  await visit.tabTo(form.getByRole('button', { name: 'Set' }))
  await visit.press('Enter')
  await visit.sees(form.getByRole('status'), 'current log level is info,request=error')
  assert.is(await levelOf(world), 'current log level is info,request=error')
  await visit.sees('.level-card', /Current\s+info\s+request=error/)
  await visit.follow('')
  await visit.sees('main h1', 'Overview')
  await visit.follow('logs')
  await visit.page.getByRole('button', { name: 'Reset to configured' }).click()
  await visit.sees('.level-card', /current log level is info$/m)
  assert.is(await levelOf(world), 'current log level is info')
})

logs('is accessible in light and dark, and fits a phone', async ({ world, visit }) => {
  assert.is(await world.send('/team'), 403)
  assert.is(await world.send('/down'), 503)
  await visit.open('logs')
  await visit.sees('.log-line', 'GET /down')
  await assertPresentable(visit)
})

logs.run()
