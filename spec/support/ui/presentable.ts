// Checks that a page is accessible: axe-core finds nothing serious in light and dark, and nothing is wider than a phone.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Result } from 'axe-core'
import * as assert from 'uvu/assert'
import { until } from '../idp/until.ts'
import { ROOT } from '../root.ts'
import type { Visit } from './visit.ts'

const WAIT_MS = 30_000
const DESK = { width: 1280, height: 800 }
const TELEPHONE = { width: 390, height: 844 }

/** Evaluated, since the page's policy allows no other script. */
const AXE = readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8')

const WIDE = `(() => {
  const width = document.documentElement.clientWidth
  const isCut = (element) => {
    for (let above = element.parentElement; above !== null; above = above.parentElement)
      if (getComputedStyle(above).overflowX !== 'visible' && above !== document.body) return true
    return false
  }
  const wide = [...document.querySelectorAll('body *')].filter((element) => {
    const { right, width: own } = element.getBoundingClientRect()
    return own > 0 && right > width + 1 && !isCut(element)
  })
  const names = wide.map((element) => element.outerHTML.slice(0, 120))
  if (document.documentElement.scrollWidth > width) names.push('the document')
  return names
})()`

/** Leaves the visit with the light theme at desktop width. */
export async function assertPresentable(visit: Visit): Promise<void> {
  const { page } = visit
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize(DESK)
  await assertNarrow(visit)
  await assertAccessible(visit)
  assert.ok((await lightness(visit)) > 200, 'the page is dark in the light theme')
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  await page.setViewportSize(TELEPHONE)
  await assertNarrow(visit)
  await assertAccessible(visit)
  assert.ok((await lightness(visit)) < 60, 'the page is light in the dark theme')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(DESK)
}

/** The page may need a moment for its layout. */
async function assertNarrow(visit: Visit): Promise<void> {
  const wide = (): Promise<string[]> => visit.asks(WIDE)
  await until(wide, ({ length }) => length === 0, WAIT_MS)
}

async function assertAccessible(visit: Visit): Promise<void> {
  await visit.asks(`{${AXE}}`)
  const run = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`
  const violations = await visit.asks<Result[]>(run)
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const problems = serious.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`,
  )
  assert.equal(problems, [])
}

/** Of the page background, 0 to 255. */
async function lightness(visit: Visit): Promise<number> {
  const colour = await visit.asks<string>('getComputedStyle(document.body).backgroundColor')
  const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map(Number)
  return (red + green + blue) / 3
}
