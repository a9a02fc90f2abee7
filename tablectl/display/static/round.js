// A round's page needs no script to be read; this one prints it.

document.getElementById("print")?.addEventListener("click", () => print());
