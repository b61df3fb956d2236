// The licences of the packages in a bundle: they ask that their notices come with every copy.
import { readFileSync, readdirSync } from 'node:fs'

const LICENSE_NAME = /^licen[cs]e(?:\.(?:md|txt))?$/i
const NOTICE_NAME = /^notice(?:\.(?:md|txt))?$/i

/** `inputs` are the paths of the bundled files, relative to this folder. */
export function licensesOf(inputs) {
  const packages = inputs.flatMap((path) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [])
  return [...new Set(packages)]
    .toSorted((a, b) => a.localeCompare(b))
    .map((folder) => {
      const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
      const license = readNamed(folder, LICENSE_NAME)
      if (license === '') throw new Error(`${folder} has no licence file`)
      const notice = readNamed(folder, NOTICE_NAME)
      return `${name} ${version}\n\n${license}\n${notice === '' ? '' : `\n${notice}\n`}`
    })
    .join('\n')
}

/** The text of the file with such a name; '' if there is none. */
function readNamed(folder, pattern) {
  const name = readdirSync(folder).find((one) => pattern.test(one))
  return name === undefined ? '' : readFileSync(`${folder}/${name}`, 'utf8').trim()
}
