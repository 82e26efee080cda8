"""What the service is measured against: a FastAPI route that returns a constant through a response model."""

from fastapi import FastAPI
from pydantic import BaseModel


class Answer(BaseModel):
    radius: int
    threshold: str
    next_threshold: str


app = FastAPI()


@app.get("/v1/radius")
async def radius() -> Answer:
    return Answer(radius=3, threshold="0.97898829668830238747", next_threshold="0.99493645881485561183")
