// Imported before a program that runs from its bundle: keeps what V8 compiled of it until the program ends.
import { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import vm from 'node:vm'

const { Script } = vm

vm.Script = class extends Script {
  constructor(code, options) {
    super(code, options)
    process.on('exit', () =>
      writeFileSync(new URL(`${options.filename}.cache`), this.createCachedData()),
    )
  }
}
syncBuiltinESMExports()
